# shellcheck shell=sh
# What the role has to know about the host, as lines of NAME=VALUE; changes nothing.
# Arguments: port of the gateway, port of its metrics or 0, certificate, private key (empty without TLS), first port of the router or 0, its Python.
set -u
LC_ALL=C
PATH=$PATH:/usr/sbin:/sbin
export LC_ALL PATH
port=$1 metrics=$2 certificate=$3 private=$4 router=$5 python=$6

tool=
for name in apt-get dnf yum; do
  if command -v "$name" > /dev/null 2>&1; then tool=$name; break; fi
done
echo "tool=$tool"
version=
if command -v haproxy > /dev/null 2>&1; then version=$(haproxy -v | sed -n 's/^HA-\{0,1\}Proxy version \([0-9][0-9.]*\).*/\1/p'); fi
echo "version=$version"
echo "active=$(systemctl is-active npufleet-gateway.service 2> /dev/null)"
echo "router=$(systemctl is-active npufleet-router.service 2> /dev/null)"
echo "router_unit=$([ -e /etc/systemd/system/npufleet-router.service ] && echo yes)"
# Version of Python, of its C library, and architecture.
echo "python=$("$python" -c 'import platform as p; print(p.python_version(), p.libc_ver()[1], p.machine())' 2> /dev/null)"
echo "venv=$("$python" -c 'import ensurepip, venv' 2> /dev/null && echo yes)"
echo "site=$(systemctl is-active haproxy.service 2> /dev/null)"
echo "systemd=$([ -d /run/systemd/system ] && echo yes)"

# Address and unit of everybody else who listens on one of the ports.
routers=
[ "$router" = 0 ] || routers="$router $((router + 1)) $((router + 2))"
taken=
# shellcheck disable=SC2086  # numbers
for number in "$port" "$metrics" $routers; do
  [ "$number" != 0 ] || continue
  taken="$taken $(ss -Hltnp "sport = :$number" 2> /dev/null | while read -r _state _receive _send address _peer users; do
    pid=${users##*pid=}
    pid=${pid%%,*}
    unit=$(grep -o '[^/]*\.\(service\|scope\)$' "/proc/$pid/cgroup" 2> /dev/null | head -n 1)
    case $unit in
      npufleet-gateway.service | npufleet-router.service) ;;
      *) echo "$address/${unit:-unknown}" ;;
    esac
  done | sort -u | tr '\n' ' ')"
done
echo "taken=$(echo "$taken" | xargs)"

judge() {
  [ -n "$certificate" ] || { echo none; return; }
  [ -r "$certificate" ] || { echo "missing $certificate"; return; }
  [ -r "$private" ] || { echo "missing $private"; return; }
  command -v openssl > /dev/null 2>&1 || { echo unknown; return; }
  public=$(openssl x509 -noout -pubkey -in "$certificate" 2> /dev/null) || { echo "unreadable $certificate"; return; }
  # An empty passphrase instead of a question that nobody answers.
  own=$(openssl pkey -pubout -passin pass: -in "$private" 2> /dev/null) || { echo "unreadable $private"; return; }
  [ "$public" = "$own" ] || { echo mismatch; return; }
  openssl x509 -noout -checkend 0 -in "$certificate" > /dev/null || { echo "expired $(openssl x509 -noout -enddate -in "$certificate")"; return; }
  echo good
}
echo "certificate=$(judge)"
