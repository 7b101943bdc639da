# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Start vllm-router with the options of its own program, and one that it lacks. Called by npufleet-router.service.

``--api-key-validation-urls`` is in the library alone (0.1.17): without it everybody on the host may add engines. The own program also imports
five packages for a load balancer that is not used here.
"""

from __future__ import annotations

import argparse
import sys


def parse(words, router_args):
    """Options of the router as its library wants them."""
    parser = argparse.ArgumentParser(description="vllm-router")
    router_args.add_cli_args(parser, use_router_prefix=False)
    parser.add_argument("--api-key-validation-urls", nargs="*", default=[])
    options = parser.parse_args(words)
    args = router_args.from_cli_args(options, use_router_prefix=False)
    args.api_key_validation_urls = options.api_key_validation_urls
    return args


if __name__ == "__main__":
    from vllm_router.router import Router
    from vllm_router.router_args import RouterArgs

    Router.from_args(parse(sys.argv[1:], RouterArgs)).start()
