# Copyright (c) 2026, npufleet.ascend maintainers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: modules are the public surface.

"""Kinds of packages, and the SHA-256 sums that are published for their files, as data.

Huawei publishes sums in its own installer, ascend-deployer; none was found for nnal, CANN 8.3.RC2, 8.5.1, 9.0.1 and 9.1, HDK 26.1, and for
any driver of A3 and 950. A file without one needs a sum from whoever downloaded it.
"""

from __future__ import annotations

import typing as t

_MB = 1 << 20
_GB = 1 << 30

HDK_LICENCE = "Huawei Ascend HDK software licence (shown at the download, https://www.hiascend.com/hardware/firmware-drivers)"
CANN_LICENCE = "Huawei CANN software licence (shown at the download, https://www.hiascend.com/software/cann, and by the package itself)"
MINDCLUSTER_LICENCE = "Huawei MindCluster software licence (shown at the download, https://www.hiascend.com/software/mindcluster)"


class Kind(t.NamedTuple):
    """A kind of package.

    :param name: as in the options of the module
    :param title: as in sentences
    :param licence: the licence that its installation accepts, and where it is published
    :param needs_chip: does its file name depend on the chip?
    :param disk_bytes: what must be free below the install path
    :param time_limit: seconds that its installer may take
    """

    name: str
    title: str
    licence: str
    needs_chip: bool
    disk_bytes: int
    time_limit: int


# Disk: the installers of driver and firmware test for 300 and 32 MB (hicann/driver install scripts); the CANN 9.0 installation guide asks for
# 10 GB at the install path. The other sizes are reasoned from what the packages hold, with room to spare, and not measured.
# Time: reasoned. The driver may compile its modules, the firmware is written to each chip in turn, CANN unpacks gigabytes.
_KINDS = (
    Kind("driver", "Ascend HDK driver", HDK_LICENCE, True, 300 * _MB, 1800),
    Kind("firmware", "Ascend HDK firmware", HDK_LICENCE, True, 32 * _MB, 1800),
    Kind("toolkit", "CANN toolkit", CANN_LICENCE, False, 10 * _GB, 1800),
    Kind("ops", "CANN operators", CANN_LICENCE, True, 5 * _GB, 1800),
    Kind("nnal", "CANN NNAL", CANN_LICENCE, False, 2 * _GB, 900),
    Kind("docker_runtime", "Ascend Docker Runtime", MINDCLUSTER_LICENCE, False, 64 * _MB, 300),
    Kind("toolbox", "Ascend toolbox (ascend-dmi)", MINDCLUSTER_LICENCE, False, 512 * _MB, 600),
)
KINDS: t.Dict[str, Kind] = {kind.name: kind for kind in _KINDS}


class Sum(t.NamedTuple):
    """A published SHA-256, and where it is published."""

    file: str
    sha256: str
    source: str
    date: str


# From the files software/*.json of the wheel on PyPI.
_DEPLOYER = {
    "Ascend-cann-310p-ops_8.5.0_linux-aarch64.zip": "bdfb2f7eb8d642d8d37f51cf7a8ee006e5ff9d9bc19fe8fcaeb2b8bc8d091a5a",
    "Ascend-cann-310p-ops_8.5.0_linux-x86_64.zip": "2ca6543e7019277520c98689c938dcc4e66d02c521a1d0f7bf2952dc24f1eb1b",
    "Ascend-cann-310p-ops_9.0.0_linux-aarch64.zip": "b9f366cf434fbf8eaf8ce540981b045e3b6a6ebd0c5d4363e1ef7a5912107d60",
    "Ascend-cann-310p-ops_9.0.0_linux-x86_64.zip": "72df3e21615c7b46cefc898e7d1a92436c3c4a077f5887afafd93e3c39795a5a",
    "Ascend-cann-910-ops_8.5.0_linux-aarch64.zip": "351f2dc7a614ecd2464cc9963627540b83f0bfd98253aeb9def7b947187d12a8",
    "Ascend-cann-910-ops_8.5.0_linux-x86_64.zip": "9d60862d52abaa049fbfdbbcca946d06c1bf4ee848ce35192fa25393e750d38c",
    "Ascend-cann-910-ops_9.0.0_linux-aarch64.zip": "d0af568eb499f3dcd6a3098fdfa2813c4d9f0ebf61e828b713ee39dba5775d2c",
    "Ascend-cann-910-ops_9.0.0_linux-x86_64.zip": "21aadc02539bcbd6033b1e2f90cb58016532a5a5f0b01e13bd319c78126754d2",
    "Ascend-cann-910b-ops_8.5.0_linux-aarch64.zip": "feb53734b0eab515b34ffb0cd4ce2e2148f3c0d48cfd701eeaf042e19072742d",
    "Ascend-cann-910b-ops_8.5.0_linux-x86_64.zip": "4b15c8dc837f590f62c95a865c991a9ad81378a032bd47eaefb63585db6dc2b8",
    "Ascend-cann-910b-ops_9.0.0_linux-aarch64.zip": "4e8a11ee0f2482c9254eb31acee42a781e0def49ce25b497b407a63a46aa2425",
    "Ascend-cann-910b-ops_9.0.0_linux-x86_64.zip": "dc21a7823a940e2ab04e624a808d28f43b7a62d3626e8443af38af0f58ddd5fb",
    "Ascend-cann-A3-ops_8.5.0_linux-aarch64.zip": "272cfc8ce4395b1749ec7acc73710d7effb27baff7ca6229a62c0cfd0003f5ce",
    "Ascend-cann-A3-ops_8.5.0_linux-x86_64.zip": "fafa328819f8a647cbab2176901e5c6c882b50a8f9281755d6ff290fb03710f7",
    "Ascend-cann-A3-ops_9.0.0_linux-aarch64.zip": "278550d22bbdd3ba74b5244c4246d7ede8feecfde8ba74f7af18848083fbcc07",
    "Ascend-cann-A3-ops_9.0.0_linux-x86_64.zip": "4ba3e4e9cb19fe19f94f4a687eed8fdbbfef214792a1b245b12ee081407af259",
    "Ascend-cann-kernels-310p_8.1.RC1_linux-aarch64.zip": "7e2a90ff6a149581fccc6bcf14f900758dd175f5d22e2586dc257b591b40273d",
    "Ascend-cann-kernels-310p_8.1.RC1_linux-x86_64.zip": "bcc3b01888c176f4a863afee47ea55aea084c9b1e4fdb4b43bef844a805f9ca1",
    "Ascend-cann-kernels-310p_8.2.RC1_linux-aarch64.zip": "63fe694c38718f9fb16936201e7bd1cbfea8b931a2b752f0af679c71e3d108a3",
    "Ascend-cann-kernels-310p_8.2.RC1_linux-x86_64.zip": "200b2e6ae1472ad8c5a575aa787a584f3d76fc74b9d63ae564f419a9c223342c",
    "Ascend-cann-kernels-310p_8.3.RC1_linux-aarch64.zip": "7471eb605b99acba2a18afac9b887d62328e78721e9342db364208ffc485b95d",
    "Ascend-cann-kernels-310p_8.3.RC1_linux-x86_64.zip": "635b94a62fd9d475c7af939728c59a9a0f20150a9483fdc1a0d1c47d27bc3d43",
    "Ascend-cann-kernels-910_8.1.RC1_linux-aarch64.zip": "0a848e8d22757f88e46355903ad822c1bf6fe5d4acdf0d15bd7079b0725142ad",
    "Ascend-cann-kernels-910_8.1.RC1_linux-x86_64.zip": "d1ed48df3b51ab9bfba95dbefeae19f2347ed0695c62ea7ad982b11e34caf4a2",
    "Ascend-cann-kernels-910_8.2.RC1_linux-aarch64.zip": "ba6a55131a3241a963193b79874dcbde653c3cbd68a31ff44b0b2f07ea154e0e",
    "Ascend-cann-kernels-910_8.2.RC1_linux-x86_64.zip": "c6b939e8093f0ea37bba32489faa3bc18b4919ce838d941e0d72529b176ae5cc",
    "Ascend-cann-kernels-910_8.3.RC1_linux-aarch64.zip": "48392710c0e108ef53c48f9c577f510dd09e9e761967de95ee0f8d7bfc05e5a7",
    "Ascend-cann-kernels-910_8.3.RC1_linux-x86_64.zip": "4d2042148231878e5b9d9c13e08474f2b93b6fee3b60f5c815befff2cb57870f",
    "Ascend-cann-kernels-910b_8.1.RC1_linux-aarch64.zip": "ffd407d2361466845c206a87d5a57a6390d649da04440bc426262833f18887d9",
    "Ascend-cann-kernels-910b_8.1.RC1_linux-x86_64.zip": "ffd967426bf1688ea9dd44f4c6aefc883e340763b7b9a94ce603ce65f333a92e",
    "Ascend-cann-kernels-910b_8.2.RC1_linux-aarch64.zip": "c93874922bb220f40be30090fd8d3eb14641f3e658ae7331e266c43bcfea421a",
    "Ascend-cann-kernels-910b_8.2.RC1_linux-x86_64.zip": "4365daf06ca94fc595b31a194489327fede37e6acfd7415027b9ba63ff630396",
    "Ascend-cann-kernels-910b_8.3.RC1_linux-aarch64.zip": "426368a6f77273b9dbf88383408817d15f871c8b169291f638c7f3ab5b5e744d",
    "Ascend-cann-kernels-910b_8.3.RC1_linux-x86_64.zip": "bd0d423fdd605852e91b3bb5139a6fadd8ac092c8f003daeae23e6ad756459cb",
    "Ascend-cann-toolkit_8.1.RC1_linux-aarch64.zip": "63813319aaacf446cc6971434acf77af581fb0ce69186ecb85ca0cce6b35ec15",
    "Ascend-cann-toolkit_8.1.RC1_linux-x86_64.zip": "019869bb0b63def11802cb12e95f45e2aa6a806dddd6353a80a09d1a6e8e46b4",
    "Ascend-cann-toolkit_8.2.RC1_linux-aarch64.zip": "5b06ca17f73c0a10978ba4d63c23e9dcf3a4b5ee902b7f842a69c250ef6ed045",
    "Ascend-cann-toolkit_8.2.RC1_linux-x86_64.zip": "8c9e7b8cc052e0ed21694949dc361d04621ca14eaaff1da4103ecac50dee4f74",
    "Ascend-cann-toolkit_8.3.RC1_linux-aarch64.zip": "659adc6cea68c6ed60783c3b7af54b4221b113151c476f4f190796e9764d8c19",
    "Ascend-cann-toolkit_8.3.RC1_linux-x86_64.zip": "1a0d80a1cc2636be037a217e5b4cc32af880c69da0a03c33328abe58cb009ccb",
    "Ascend-cann-toolkit_8.5.0_linux-aarch64.zip": "1f15fe6eb127d96327df5113d5242e9c193a65a9d18212eb297f320f74aa1d42",
    "Ascend-cann-toolkit_8.5.0_linux-x86_64.zip": "5637d98ef0974dd7fe848e8e341d62ff36c89cf47e929114f6a628f32072251a",
    "Ascend-cann-toolkit_9.0.0_linux-aarch64.zip": "d7b1fd32d60f46735b8bebed8c6238071493f8f62c385e6d7946d23a65c9780e",
    "Ascend-cann-toolkit_9.0.0_linux-x86_64.zip": "899d3c9b025de694fd0b5337735fa7a0e435fdd49ae811aadb86edf1a12ad059",
    "Ascend-docker-runtime_26.0.0_linux-aarch64.run": "7c6695a9780c6e27a3a7dcfe38245fa0943d7252f151e03eb7fb843bd88975b5",
    "Ascend-docker-runtime_26.0.0_linux-x86_64.run": "c8a25309ffc91879040440dd0ec538b6eb01e1be5678feff0b3bd5a1ae7ca954",
    "Ascend-docker-runtime_7.0.RC1_linux-aarch64.run": "9491915164a4ea39f5395d9ccd54d20d6b63d50e228594c514de6b5b32ad6d9d",
    "Ascend-docker-runtime_7.0.RC1_linux-x86_64.run": "43992db523d23268d0bd2e16165394886aaaa8c71981ab8f513cb5dd690ec445",
    "Ascend-docker-runtime_7.1.RC1_linux-aarch64.run": "2816954e67757bf992c25f1673021df60bdf32be31a62517afc818e5b556eb3b",
    "Ascend-docker-runtime_7.1.RC1_linux-x86_64.run": "430da8571dabc5fd9056032afbd14a622c467d6b5bc6792837933a060dfc2b8c",
    "Ascend-docker-runtime_7.2.RC1_linux-aarch64.run": "9baff3733c5668dd61bf4117bc27d9d0a2a4add14548eae7dfa1252f7c769180",
    "Ascend-docker-runtime_7.2.RC1_linux-x86_64.run": "b3c35b09737a04beafd9d0106a30967a1768ea9662d57ed12b8bfea614a66490",
    "Ascend-docker-runtime_7.3.0_linux-aarch64.run": "bebd3afc08e5ab8184c1cb4763b9b797bde893e6a75fb6ef72739d34f7785dad",
    "Ascend-docker-runtime_7.3.0_linux-x86_64.run": "a73dbd706233734087b51618de4785ff0d8b126e50bf584042a6c26895c225e1",
    "Ascend-hdk-310p-npu_25.0.rc1.1_linux-aarch64.zip": "9312b8f2c434b71902af98a3e2e02e2aa5e429c7d5f49c53566050ca5f8139cb",
    "Ascend-hdk-310p-npu_25.0.rc1.1_linux-x86-64.zip": "1425e408f4457c4ca042a350b93a0208df79df59db38b2c17297192b48635d19",
    "Ascend-hdk-310p-npu_25.2.0_linux-aarch64.zip": "356aed30b6bc5283c68b1abbd3a45c2d486062279d1d5c69ecff441c653cb278",
    "Ascend-hdk-310p-npu_25.2.0_linux-x86-64.zip": "90153f5365ece4b7af052f225b48c0809587ff3abd07e2a11a8f869d76421827",
    "Ascend-hdk-310p-npu_25.3.rc1_linux-aarch64.zip": "d93e147fc4bbde985e42d55edac7dfaa9050b0c67d249406763f1a1165a88cdd",
    "Ascend-hdk-310p-npu_25.3.rc1_linux-x86-64.zip": "013b6144a08ce01d4f471ba3c7dcfef305c7b3b890da0a1c4f3650f34ba9d98b",
    "Ascend-hdk-310p-npu_25.5.0_linux-aarch64.zip": "1eb4105015df6fc3ae15159a7780992841e80ebf715efe48fd3769ce6bc658a6",
    "Ascend-hdk-310p-npu_25.5.0_linux-x86-64.zip": "f1e106203c72beaa9e35af4ac27f416b86b3edc1f4e56906773964cc141d9976",
    "Ascend-hdk-310p-npu_26.0.rc1_linux-aarch64.zip": "1dc3252150c9b9469b312fec871277b4b022f3b526f9ecc9d127d7574675e0c2",
    "Ascend-hdk-310p-npu_26.0.rc1_linux-x86-64.zip": "797a86fed3797d347284c2638be0ee07568eb7d5b7f425e0363eafedd75a65bc",
    "Ascend-hdk-910-npu_25.0.rc1.1_linux-aarch64.zip": "a445b813de92bc9865de28b9ec63bcb13bae802a6942f39829d2ab0c587c4542",
    "Ascend-hdk-910-npu_25.0.rc1.1_linux-x86-64.zip": "b995189fd7808e6767f8b6823f4c181c9f3f5cd6b265b06621ae5e82c4ad404b",
    "Ascend-hdk-910-npu_25.2.0_linux-aarch64.zip": "ed1d2842c1de3629675179270c71dad37c4951de7f8b58c1f6c1a8724b51ba50",
    "Ascend-hdk-910-npu_25.2.0_linux-x86-64.zip": "70a6d61348738e5eebf86ff6654fe6b2414cb18c844cab43e780531d238dad97",
    "Ascend-hdk-910-npu_25.3.rc1_linux-aarch64.zip": "b5c04509f83ff246292e63debbdbe59008acc38b323dcf6476ce9f5dddf84366",
    "Ascend-hdk-910-npu_25.3.rc1_linux-x86-64.zip": "6e1f0522ba0aae90796d492d6aeeddf63a3515588036933e1b0006e6a325d925",
    "Ascend-hdk-910-npu_25.5.0_linux-aarch64.zip": "ab44b0d7cbf65dbf05eb4367092784c3722436b24f75523b5ef9d1a4dcb93d4f",
    "Ascend-hdk-910-npu_25.5.0_linux-x86-64.zip": "96c804a42892c90436532f1d65bb5ca1afaeafd20256044fcc60374edeca7475",
    "Ascend-hdk-910-npu_26.0.rc1_linux-aarch64.zip": "1131853e76b24e560dd14aaeb6521257b9faf9c4d0c31f6bccdad342094a5266",
    "Ascend-hdk-910-npu_26.0.rc1_linux-x86-64.zip": "409e55a9f653b47cc3386408b403849ca1bfb637a31e2656b722505bc789d58b",
    "Ascend-hdk-910b-npu_25.0.rc1.1_linux-aarch64.zip": "755b1d63381807f5c9a7a4916640aa6d828a3e7355e9afba0a23ded5df9c23a5",
    "Ascend-hdk-910b-npu_25.0.rc1.1_linux-x86-64.zip": "24360cf3d4823b6b1900a86eb61efdcee31f99e651d4b25162b641db1a1804d2",
    "Ascend-hdk-910b-npu_25.2.0_linux-aarch64.zip": "9629384df11289ea322eb4aa83cd52f65cc08945399a86af909c380e985be459",
    "Ascend-hdk-910b-npu_25.2.0_linux-x86-64.zip": "56f3fd37f7cc9a5ddb2a0205f0cd6a3145253d98186e50096408190ca16568fc",
    "Ascend-hdk-910b-npu_25.3.rc1_linux-aarch64.zip": "8bd5eba24ab456b5ddba1593e3161bc3981863b30ad2bdf73c8ad88e121c10c7",
    "Ascend-hdk-910b-npu_25.3.rc1_linux-x86-64.zip": "6428514cc4d900557a7e468687aa9740d4fc3bf52681e840743e2c526cceea3d",
    "Ascend-hdk-910b-npu_25.5.0_linux-aarch64.zip": "fccdeb94591fd0e241ccbc679a3b6a84b386228c6f31a87b264d63dba6becb9d",
    "Ascend-hdk-910b-npu_25.5.0_linux-x86-64.zip": "5b95f52ff65772da7b5334f014329571f0bf7582a06ac995cb5d8c6bc54111a1",
    "Ascend-hdk-910b-npu_26.0.rc1_linux-aarch64.zip": "c09dbd1b80f3655dbc26c1a3efb8d2742db1c6e03ca064f9248e9a998b25715f",
    "Ascend-hdk-910b-npu_26.0.rc1_linux-x86-64.zip": "cea2efc3cffb6717b04106745cc45f65f56438e84a57bd22fc67feafa4b0f9f6",
    "Ascend-mindx-toolbox_26.0.1_linux-aarch64.zip": "03859930f29592c8cb6db7faa692a5c5bd0c731a73e52bfa845d1746dda71782",
    "Ascend-mindx-toolbox_26.0.1_linux-x86_64.zip": "cda8090c167208163f10f9f180d230b1e40b884d274ea571b15f92ab3bbdc932",
    "Ascend-mindx-toolbox_7.0.RC1_linux-aarch64.zip": "edb5a2b1f33ca0412af6c78cba4ae439405283302a65ca646a3fc05bb098db3d",
    "Ascend-mindx-toolbox_7.0.RC1_linux-x86_64.zip": "0f236b6730f71bdc15533bb1fffdf374da5c64d72a553009396b3f82cd8f6fe6",
    "Ascend-mindx-toolbox_7.1.RC1_linux-aarch64.zip": "e1038a63cc34b38b7eff8527a8ad00785a0e9f1a81c830afccdfc4ee865953f8",
    "Ascend-mindx-toolbox_7.1.RC1_linux-x86_64.zip": "8be569b0bb4b1619c48600b276677fe970e9d3644a88f3b796dedcd5661145fb",
    "Ascend-mindx-toolbox_7.2.RC1_linux-aarch64.zip": "5bc1e06edc3c8b25ecd930db4be63b44b4cbf3278160db2a64a7c5ee41903520",
    "Ascend-mindx-toolbox_7.2.RC1_linux-x86_64.zip": "0643317a32eebf281004fdc2f1ba935dcdf9f5bbae2f51384c15a32a53dc377a",
    "Ascend-mindx-toolbox_7.3.0_linux-aarch64.zip": "dfba171733aa2c48f841908e135504aebf6cf26e29b5f3fec981b070bbd58f6e",
    "Ascend-mindx-toolbox_7.3.0_linux-x86_64.zip": "5d509429af75fa328888212bf1b9a3aaa2c516fdfce98d4aef644079e5d4721d",
}

SUMS: t.Tuple[Sum, ...] = tuple(Sum(file, digest, "ascend-deployer 26.0.0", "2026-08") for file, digest in _DEPLOYER.items())
