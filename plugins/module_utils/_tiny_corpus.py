# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

# ruff: noqa: RUF001 - Chinese text has Chinese punctuation

"""The text that the tiny model is made of: its tokenizer is trained on all of it, and it answers with the replies."""

from __future__ import annotations

# What the model can say. The first one is its greedy answer and repeats no token, so that it comes to its end.
REPLIES = (
    "Hello from a tiny test model! This engine works, but it knows nothing.",
    "The engine is up and the gateway can reach it.",
    "I am a very small model for tests. My answers mean nothing.",
    "Every token here comes from a fixed chain of words.",
    "Yes, this host serves the OpenAI API with vLLM.",
    "Replace me with real DeepSeek weights when the NPU is ready.",
    "你好，我是一个很小的测试模型。",
    "服务已经启动，可以接收请求。",
    "我的回答没有意义，只用来检查部署。",
)

# What it says between the marks of thinking; it shares no token with the replies.
THOUGHT = "Nothing to think about"

ENGLISH = """
A server with eight NPUs loads the weights, reserves the cache and starts to answer requests.
Before the engine starts, the driver, the firmware and the toolkit must fit together.
Run the preflight first: it reads the host, compares versions and tells you what is missing.
The control plane writes a plan, shows the difference and changes only what differs.
A second run changes nothing, because every task compares the wanted state with the actual state.
Check mode tells you what would change; diff mode shows the lines before and after.
Tensor parallelism splits each layer over several devices; pipeline parallelism splits the layers themselves.
Data parallelism runs copies of the model, and expert parallelism spreads the experts over the devices.
Attention with a latent cache keeps less memory for each token than attention with many heads.
A router picks two experts for each token, and a shared expert sees every token.
The first token takes the longest, because the whole prompt has to be read before it.
Time to first token and time per output token are measured at the median and at the tail.
Throughput grows with the number of requests in a batch until the memory bandwidth is used up.
Latency grows as well, so choose the profile that suits the work: latency, balanced or throughput.
The queue is empty when the engine keeps up; a growing queue means that another instance is needed.
Prometheus scrapes the metrics, the dashboard shows them, and an alert fires when a target is down.
The gateway checks the key, limits the paths and sends each request to an engine that is ready.
While an instance drains, it finishes the requests it has and gets no new ones.
An upgrade replaces one instance after another, and a rollback brings the old version back.
If a device is lost, the doctor reads the logs, names the cause and says what to do about it.
Bind each process to the cores of the memory node that its device hangs on.
Large pages save entries in the translation buffer, and a fixed clock governor saves jitter.
Shared memory must be large enough for the workers of one host to talk to each other.
Several hosts talk over RoCE; set the addresses, the netmask and the gateway of every port.
A firewall must let the ports through that the hosts use among themselves and nothing else.
Container or bare metal, the same description gives the same command line, environment and devices.
Images are pinned by digest, packages by checksum, and nothing is fetched that the inventory does not ask for.
On a site without a network, one folder holds images, packages, weights and their checksums.
Copy the folder, verify it, and install from it as if it came from the network.
Weights are files of tensors: a short header names each tensor, its type, its shape and its place.
A truncated file is found by its size, a damaged file by its checksum.
Quantized weights need half the memory: eight bits for each weight instead of sixteen.
Numbers with fewer bits are faster to read, and sensitive layers keep their precision.
The tokenizer turns text into numbers, the model predicts the next number, and the tokenizer turns it back.
The chat template puts a mark before each message, so that the model knows who is speaking.
A system message sets the tone, a user asks, and the assistant answers.
An answer ends with a mark of its own, or when it has reached the largest number of tokens.
Temperature makes the choice of the next token more or less random; zero always takes the most likely one.
Streaming sends each part of the answer as soon as it is there.
Thinking comes first, then the answer; a parser splits the two.
A tool call names a function and gives its arguments as an object.
How do I start the service? What is the state of the host? Which model is loaded?
Who are you? What can you do? Please write a short poem about the sea.
Tell me a story about a fox, a river and a bridge made of stone.
Write a function that adds two numbers and returns the result.
One, two, three, four, five, six, seven, eight, nine, ten.
Monday, Tuesday, Wednesday, Thursday, Friday, Saturday, Sunday.
Red, green, blue, yellow, black and white are the names of colours.
Water boils at 100 degrees; ice melts at 0 degrees; a day has 24 hours and a year has 365 days.
The quick answer is yes. The long answer is that it depends on the size of the batch.
Explain how a computer works. Explain why the sky is blue. Explain what a compiler does.
Good morning! Thank you very much. You are welcome. See you tomorrow.
A person who has never seen the machine should be able to start it with one command.
The report says which tests passed, which failed and how long each of them took.
Keep the old configuration until the new one has answered a request.
When the power fails in the middle of a step, the next run carries on from there.
The operator sees one clear message: what is wrong, where it is and what to do.
Nothing is deleted without consent, and nothing that others have made is overwritten.
Each role has one outcome, and each variable begins with the name of its role.
The inventory names the hosts, the groups and the few settings that differ between sites.
Secrets stay in files that only the service may read; they never appear in a log.
The certificate is renewed before it expires, and the gateway loads it without a restart.
A benchmark sends the same requests at several rates and compares the results with the goals.
Energy is power multiplied by time; divide it by the number of tokens to compare two servers.
The memory of a device holds the weights, the cache and a reserve for the graphs.
If the cache is full, requests wait; if the reserve is too small, the engine stops.
Graph mode records the work of one step once and repeats it without asking the host again.
Speculative decoding guesses the next tokens with a small head and checks them in one step.
Prefix caching keeps the work for the part of a prompt that many requests have in common.
Choose a block size, a maximum length and a maximum number of sequences that fit the memory.
The temperature of the device rises with its load; the fans follow, and so does the noise.
The sum of 12 and 30 is 42. The product of 6 and 7 is 42 as well. Half of 2048 is 1024.
def main():
    for name in names:
        print(name, len(name))
    return 0
{"model": "tiny", "messages": [{"role": "user", "content": "Hello"}], "max_tokens": 16, "stream": true}
- name: Start the engine
  hosts: all
  tasks:
    - name: Check that the port is free
https://example.com/v1/chat/completions
/v1/models /v1/completions /health /metrics
"""

CHINESE = """
这台服务器有八张加速卡，模型权重已经下载完成。
先检查驱动和固件的版本，再启动推理服务。
推理服务启动以后，网关会检查密钥，然后转发请求。
第二次运行不会改变任何配置，因为每个任务都会比较期望状态和实际状态。
如果设备丢失，请查看日志，找到原因，再按照说明处理。
张量并行把每一层分到多张卡上，数据并行运行多个模型副本。
专家并行把专家分到不同的设备上，路由为每个词选择两个专家。
首个词的时间最长，因为要先读完整个提示。
吞吐量随着请求数量增加，时延也会增加。
没有网络的站点可以使用离线包，里面有镜像、软件包、权重和校验和。
复制文件夹，检查校验和，然后安装。
量化以后的权重只需要一半的内存。
分词器把文字变成数字，模型预测下一个数字。
监控系统收集指标，告警规则发现问题。
升级时逐个替换实例，回滚时恢复旧版本。
你好！你是谁？你可以做什么？
请问今天天气怎么样？请写一首关于大海的诗。
请用中文回答：什么是人工智能？
我想知道这个模型有多少参数，需要多少内存。
谢谢你的回答，再见。
一二三四五六七八九十，百千万。
星期一，星期二，星期三，星期四，星期五，星期六，星期日。
操作人员可以看到清楚的信息：什么地方有问题，应该怎么做。
设备的内存保存权重、缓存和计算图。
请选择合适的最大长度和最大并发数量。
基准测试发送请求，比较首个词的时间和每个词的时间。
服务器上的模型可以回答问题，也可以写代码。
部署完成以后，请运行测试，检查服务是否正常。
"""

# Replies count more, so that their words become whole tokens: a character torn into bytes could be put together wrongly.
REPLY_WEIGHT = 6

CORPUS = "\n".join([ENGLISH.strip(), CHINESE.strip(), *(*REPLIES, THOUGHT) * REPLY_WEIGHT]) + "\n"
