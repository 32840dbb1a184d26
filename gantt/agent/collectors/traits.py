"""HW_CPU_* and HW_ARCH_*: what the processor can do, by os-traits' names.

Most names of the kernel's flags and of os-traits agree; the tables below list all known
pairs. Other flags are ignored.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec import Struct

from gantt.agent.collectors.architecture import CPUINFO, first_processor, machine_of
from gantt.agent.files import Files

PREFIXES = ("HW_CPU_", "HW_ARCH_")
X86 = "HW_CPU_X86_"
ARM = "HW_CPU_AARCH64_"

# x86: the kernel's flag -> what follows HW_CPU_X86_.
X86_FLAGS = {
    "3dnow": "3DNOW",
    "abm": "ABM",
    "aes": "AESNI",
    "amx_bf16": "AMXBF16",
    "amx_int8": "AMXINT8",
    "amx_tile": "AMXTILE",
    "avx": "AVX",
    "avx2": "AVX2",
    "avx512_bitalg": "AVX512BITALG",
    "avx512_vbmi2": "AVX512VBMI2",
    "avx512_vnni": "AVX512VNNI",
    "avx512_vpopcntdq": "AVX512VPOPCNTDQ",
    "avx512bw": "AVX512BW",
    "avx512cd": "AVX512CD",
    "avx512dq": "AVX512DQ",
    "avx512er": "AVX512ER",
    "avx512f": "AVX512F",
    "avx512ifma": "AVX512IFMA",
    "avx512pf": "AVX512PF",
    "avx512vbmi": "AVX512VBMI",
    "avx512vl": "AVX512VL",
    "bmi1": "BMI",
    "bmi2": "BMI2",
    "f16c": "F16C",
    "fma": "FMA3",
    "fma4": "FMA4",
    "hle": "TSX",
    "mmx": "MMX",
    "mpx": "MPX",
    "pclmulqdq": "CLMUL",
    "pdpe1gb": "PDPE1GB",
    "pni": "SSE3",
    "rtm": "TSX",
    "sgx": "SGX",
    "sha_ni": "SHA",
    "sse": "SSE",
    "sse2": "SSE2",
    "sse4_1": "SSE41",
    "sse4_2": "SSE42",
    "sse4a": "SSE4A",
    "ssse3": "SSSE3",
    "stibp": "STIBP",
    "svm": "SVM",
    "tbm": "TBM",
    "vmx": "VMX",
    "xop": "XOP",
}

# AVX512 traits; processors without AVX512 may have the same flags.
X86_FLAGS_WITH_AVX512 = {
    "gfni": "AVX512GFNI",
    "vaes": "AVX512VAES",
    "vpclmulqdq": "AVX512VPCLMULQDQ",
}

# Traits of one vendor; the other's processors may have the same flag.
X86_FLAGS_OF_VENDOR = {
    "AuthenticAMD": {
        "ibpb": "AMD_IBPB",
        "sev": "AMD_SEV",
        "sev_es": "AMD_SEV_ES",
        "sev_snp": "AMD_SEV_SNP",
        "ssbd": "AMD_SSBD",
        "svm": "AMD_SVM",
        "virt_ssbd": "AMD_VIRT_SSBD",
    },
    "GenuineIntel": {
        "ibrs": "INTEL_SPEC_CTRL",
        "md_clear": "INTEL_MD_CLEAR",
        "pcid": "INTEL_PCID",
        "ssbd": "INTEL_SSBD",
        "tdx_host_platform": "INTEL_TDX",
        "vmx": "INTEL_VMX",
    },
}

# 64 bit ARM: the kernel's feature, in upper case, is what follows HW_CPU_AARCH64_.
ARM_FEATURES = frozenset(
    "fp asimd evtstrm aes pmull sha1 sha2 crc32 fphp asimdhp asimdrdm atomics jscvt "
    "fcma lrcpc dcpop sha3 sm3 sm4 asimddp sha512 sve cpuid".split()
)

# The machine's name as uname gives it -> what follows HW_ARCH_.
ARCHITECTURES = {
    "aarch64": "AARCH64",
    "armv7l": "ARMV7",
    "i686": "I686",
    "ppc64": "PPC64",
    "ppc64le": "PPC64LE",
    "s390x": "S390X",
    "x86_64": "X86_64",
}


class TraitsCollector(Struct, frozen=True):
    """Reads the flags of the first processor."""

    @property
    def provides(self) -> frozenset[str]:
        return frozenset({"traits"})

    def collect(self, files: Files) -> dict[str, Any]:
        """All traits for the processor and the machine's name."""
        text = files.text(CPUINFO)
        if text is None:
            return {}
        machine = machine_of(files) or ""
        names = set(cpu_traits(first_processor(text), machine))
        if machine in ARCHITECTURES:
            names.add(f"HW_ARCH_{ARCHITECTURES[machine]}")
        return {"traits": tuple(sorted(names))}


def is_x86(machine: str) -> bool:
    """Whether an architecture is x86, of 32 or 64 bits."""
    return machine in {"x86_64", "i686"}


def cpu_traits(processor: dict[str, str], machine: str) -> Iterable[str]:
    """The HW_CPU_* traits of one processor of architecture ``machine``."""
    if has_sibling_threads(processor):
        yield "HW_CPU_HYPERTHREADING"
    if is_x86(machine):
        yield from x86_traits(processor)
    elif machine == "aarch64":
        features = processor.get("Features", "").split()
        yield from (ARM + name.upper() for name in features if name in ARM_FEATURES)
    elif machine == "ppc64le":
        yield from power_traits(processor)


def has_sibling_threads(processor: dict[str, str]) -> bool:
    """Whether a core runs several threads (the flag ``ht`` does not mean that)."""
    siblings, cores = processor.get("siblings", ""), processor.get("cpu cores", "")
    return siblings.isdigit() and cores.isdigit() and int(siblings) > int(cores)


def x86_traits(processor: dict[str, str]) -> Iterable[str]:
    """HW_CPU_X86_* (and HW_CPU_AMD_SEV, which is outside that family)."""
    flags = set(processor.get("flags", "").split())
    tables = [X86_FLAGS, X86_FLAGS_OF_VENDOR.get(processor.get("vendor_id", ""), {})]
    if "avx512f" in flags:
        tables.append(X86_FLAGS_WITH_AVX512)
    names = {table[flag] for table in tables for flag in flags & table.keys()}
    yield from (X86 + name for name in names)
    if "AMD_SEV" in names:
        yield "HW_CPU_AMD_SEV"


def power_traits(processor: dict[str, str]) -> Iterable[str]:
    """HW_CPU_PPC64LE_*: the generation; os-traits has nothing else."""
    model = processor.get("cpu", "").upper()
    yield from (f"HW_CPU_PPC64LE_{n}" for n in ("POWER8", "POWER9") if n in model)
