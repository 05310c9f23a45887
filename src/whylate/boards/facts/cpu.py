"""The processors: model, features, microcode, mitigations."""

from __future__ import annotations

from whylate.boards.facts.reading import Files, clean, integer, make_fact
from whylate.boards.facts.snapshot import FileRequest, ProbeFacts
from whylate.recording.manifest import Fact

CPUINFO = "/proc/cpuinfo"
VULNERABILITIES = "/sys/devices/system/cpu/vulnerabilities/*"

WANTED = (
    # x86 says about 1.3 KiB per CPU, nearly all of it the same.
    FileRequest(CPUINFO, 64 * 1024),
    FileRequest(VULNERABILITIES, 256),
)

#: MIDR implementer and part numbers, Arm's "Main ID Register" as /proc/cpuinfo prints them.
_ARM_PARTS = {
    0xC05: "Cortex-A5",
    0xC07: "Cortex-A7",
    0xC08: "Cortex-A8",
    0xC09: "Cortex-A9",
    0xC0E: "Cortex-A17",
    0xC0F: "Cortex-A15",
    0xD01: "Cortex-A32",
    0xD02: "Cortex-A34",
    0xD03: "Cortex-A53",
    0xD04: "Cortex-A35",
    0xD05: "Cortex-A55",
    0xD07: "Cortex-A57",
    0xD08: "Cortex-A72",
    0xD09: "Cortex-A73",
    0xD0A: "Cortex-A75",
    0xD0B: "Cortex-A76",
    0xD0C: "Neoverse-N1",
    0xD0D: "Cortex-A77",
    0xD0E: "Cortex-A76AE",
    0xD40: "Neoverse-V1",
    0xD41: "Cortex-A78",
    0xD42: "Cortex-A78AE",
    0xD44: "Cortex-X1",
    0xD46: "Cortex-A510",
    0xD47: "Cortex-A710",
    0xD49: "Neoverse-N2",
    0xD4F: "Neoverse-V2",
    0xD80: "Cortex-A520",
    0xD81: "Cortex-A720",
}
_ARM_LIMITED = 0x41


def processors(files: Files) -> list[dict[str, str]]:
    """One mapping per "processor" paragraph of /proc/cpuinfo, keys and values clean.

    ARM's closing paragraph (Hardware, Revision) is one without the key "processor". Its Serial
    is dropped: it names a specimen, and nothing here depends on it.
    """
    found: list[dict[str, str]] = []
    entry: dict[str, str] = {}
    for line in files.lines(CPUINFO):
        key_text, colon, value_text = line.partition(":")
        key = clean(key_text, 40)
        if (not key or key == "processor") and entry:
            found.append(entry)
            entry = {}
        if colon and key and key != "Serial":
            # A flags line has some 2,000 characters.
            entry[key] = clean(value_text, 8000)
    return [*found, entry] if entry else found


def features(files: Files) -> list[str]:
    """Return the first processor's feature flags, as x86, ARM or RISC-V name them."""
    for processor in processors(files):
        for key in ("flags", "Features", "isa"):
            if key in processor:
                return processor[key].split(" ")
    return []


def arm_name(processor: dict[str, str]) -> str | None:
    """Return "Cortex-A72 r0p3" from ARM's identification fields, numbers for unknown parts."""
    implementer, part = _hex(processor, "CPU implementer"), _hex(processor, "CPU part")
    if implementer is None or part is None:
        return None
    known = _ARM_PARTS.get(part) if implementer == _ARM_LIMITED else None
    name = known or f"implementer {implementer:#04x} part {part:#05x}"
    variant, revision = _hex(processor, "CPU variant"), integer(processor.get("CPU revision", ""))
    if variant is None or revision is None:
        return name
    return f"{name} r{variant}p{revision}"


def _hex(processor: dict[str, str], key: str) -> int | None:
    digits = processor.get(key, "").removeprefix("0x")
    if not 0 < len(digits) <= 8 or not digits.isalnum() or not digits.isascii():
        return None
    try:
        return int(digits, 16)
    except ValueError:
        return None


def model(files: Files) -> str | None:
    """Return the processors' model; several different ones are joined with " + " (big.LITTLE)."""
    names: list[str] = []
    for processor in processors(files):
        if "processor" not in processor:
            continue
        name = arm_name(processor) or processor.get("model name") or processor.get("uarch")
        if name and name not in names:
            names.append(name)
    return " + ".join(names[:8]) or None


def mitigations(files: Files) -> list[str]:
    """Each CPU weakness that is not "Not affected", with what the kernel does about it."""
    return [
        f"{name}: {text}"
        for (name,), path in files.match(VULNERABILITIES)
        if (text := files.text(path)) is not None and text != "Not affected"
    ]


def cpu_facts(files: Files, probe: ProbeFacts) -> list[Fact]:
    """Model, features, microcode, mitigations, and the frequency that the probe measured."""
    facts: list[Fact] = []
    if files.closed(CPUINFO) is not None:
        source = f"{CPUINFO}: not readable ({files.closed(CPUINFO)})"
        facts.append(make_fact("cpu_model", None, source))
    else:
        facts.append(make_fact("cpu_model", model(files), CPUINFO))
    flags = features(files)
    if flags:
        facts.append(make_fact("cpu_features", flags, CPUINFO, limit=256))
    found = processors(files)
    for key, name in (
        ("microcode", "cpu_microcode"),
        ("cpu family", "cpu_family"),
        ("model", "cpu_model_number"),
        ("stepping", "cpu_stepping"),
        ("address sizes", "cpu_address_sizes"),
        ("bugs", "cpu_bugs"),
        ("Hardware", "cpu_hardware"),
    ):
        values = dict.fromkeys(entry[key] for entry in found if entry.get(key))
        if values:
            facts.append(make_fact(name, " + ".join(list(values)[:8]), CPUINFO))
    if next(files.match(VULNERABILITIES), None) is not None:
        facts.append(make_fact("mitigations", mitigations(files), VULNERABILITIES))
    if probe.cpu_frequencies:
        measured = [f"cpu {f.cpu}: {f.hz / 1e6:.0f} MHz" for f in probe.cpu_frequencies]
        facts.append(make_fact("cpu_frequency_measured", measured, "timed by the probe"))
    return facts
