"""The commands that start a probe on a board: from a file, or from memory alone.

Each prints the probe's --version and then "whylate: ready", and from there on it is the probe.
Those that are fed read the probe's bytes from their input first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

#: Precedes the first output of the probe.
READY = "whylate: ready"

#: The number of the system call memfd_create: for 64-bit programs, for 32-bit ones.
_MEMFD_CREATE = {"x86_64": (319, 356), "aarch64": (279, 385), "armv7": (385, 385)}

#: With the path in $p, the size in $1 and the SHA-256 in $2: only that probe is started.
#: Without sha256sum, size and --version are compared.
_CHECK_AND_START = (
    "s=$(sha256sum $p 2>/dev/null) || s=$(busybox sha256sum $p 2>/dev/null) || s=;"
    ' case $s in "") [ "$(wc -c <$p)" -eq $1 ];; "$2 "*) true;; *) false;; esac ||'
    ' { echo "it is not what was sent"; exit 1; };'
    f' $p --version </dev/null 2>&1 && echo "{READY}" && exec $p'
)

#: A private mount that ends with the probe. Not over /run, where the probe logs what it changes,
#: and over /tmp only as the last choice: loads work there.
_IN_A_PRIVATE_MOUNT = (
    "umask 077; for d in /mnt /media /srv /opt /tmp; do [ -d $d ] &&"
    " mount -t tmpfs -o mode=700,size=8m,exec whylate $d 2>&1 && break; d=; done;"
    ' [ -n "$d" ] || exit 1; p=$d/whylate-probe; head -c $1 >$p && chmod 700 $p || exit 1; '
) + _CHECK_AND_START

#: 17 is MFD_CLOEXEC | MFD_EXEC, which kernels before 6.3 do not know.
_PYTHON = (
    "import os,sys; n=int(sys.argv[1]); d=sys.stdin.buffer.read(n);"
    r" exec('try: m=os.memfd_create(\'whylate-probe\',17)\n"
    r"except OSError: m=os.memfd_create(\'whylate-probe\',1)');"
    " len(d)==n==os.write(m,d) or sys.exit('it is not what was sent');"
    " os.spawnv(os.P_WAIT,'/proc/%d/fd/%d'%(os.getpid(),m),['whylate-probe','--version'])"
    " and sys.exit('it cannot be run from a memfd');"
    f" print('{READY}',flush=True); os.execv('/proc/self/fd/%d'%m,['whylate-probe'])"
)
_PERL = (
    'my($n,$a,$b)=@ARGV; my $w="whylate-probe"; my $c=length(pack("p",""))==4?$b+0:$a+0;'
    ' binmode STDIN; read(STDIN,my $d,$n)==$n or die "it is not what was sent\\n";'
    " my $m=syscall($c,$w,17); $m=syscall($c,$w,1) if $m<0;"
    ' $m>=0 or die "no memfd: $!\\n"; open(my $f,">&=",$m) or die; binmode $f;'
    ' syswrite($f,$d)==$n or die "no memory: $!\\n"; $|=1;'
    ' system{"/proc/$$/fd/$m"}"whylate-probe","--version";'
    ' $?==0 or die "it cannot be run from a memfd\\n";'
    f' print "{READY}\\n"; exec{{"/proc/self/fd/$m"}}"whylate-probe"'
)


@dataclass(frozen=True)
class Launch:
    """A command that becomes the probe, and what it needs."""

    argv: tuple[str, ...]
    #: The program that it needs, besides a shell; "" for none.
    tool: str = ""
    #: Whether it needs root.
    root: bool = False
    #: Whether the probe's bytes go to its input first.
    fed: bool = True


def from_file(path: str, size: int, sha256: str) -> Launch:
    """Start the probe in a file, if it is the right one."""
    script = f"p=$3; {_CHECK_AND_START}"
    return Launch(("sh", "-c", script, "whylate", str(size), sha256, path), fed=False)


def by_python(arch: str, size: int, sha256: str) -> Launch:
    """Start it from a memfd that python3 (from 3.8) makes; the line must be binary-safe."""
    del arch, sha256
    return Launch(("python3", "-c", _PYTHON, str(size)), tool="python3")


def by_perl(arch: str, size: int, sha256: str) -> Launch:
    """Start it from a memfd that perl makes; the line must be binary-safe."""
    del sha256
    wide, narrow = _MEMFD_CREATE[arch]
    return Launch(("perl", "-e", _PERL, str(size), str(wide), str(narrow)), tool="perl")


def by_mount(arch: str, size: int, sha256: str) -> Launch:
    """Start it from a tmpfs in a private mount namespace."""
    del arch
    inner = ("sh", "-c", _IN_A_PRIVATE_MOUNT, "whylate", str(size), sha256)
    return Launch(("unshare", "-m", *inner), tool="unshare", root=True)


#: From the architecture, the size in bytes and the SHA-256 of a probe.
MakeLaunch = Callable[[str, int, str], Launch]
#: The launches that need no directory on the board, in the order in which they are tried.
FED_LAUNCHES: tuple[MakeLaunch, ...] = (by_python, by_perl, by_mount)
