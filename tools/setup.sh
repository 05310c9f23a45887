#!/usr/bin/env bash
# Make this checkout ready: the Debian packages that are missing, and .venv with whylate in it.
#
#   tools/setup.sh run      what running whylate needs
#   tools/setup.sh dev      also what tests, lint and wheels need
#   tools/setup.sh bench    also what the benchmarks compare with
#
# PYTHON=/path/to/python3.12 chooses another Python than python3. Nothing happens when nothing
# changed. Packages are installed only by root or where sudo asks no password; otherwise the
# command to run is printed.
set -euo pipefail
cd -P "$(dirname "${BASH_SOURCE[0]}")/.."

level=${1:-run}
case $level in
run | dev | bench) ;;
*)
	echo "setup: '$level' is not a set-up: say run, dev or bench" >&2
	exit 2
	;;
esac
python=${PYTHON:-python3}
venv=.venv
missing=()

say() { echo "setup: $*" >&2; }

fail() {
	say "$@"
	exit 1
}

# need PACKAGE COMMAND... - PACKAGE is missing unless COMMAND succeeds
need() {
	local package=$1
	shift
	"$@" >/dev/null 2>&1 || missing+=("$package")
}

have() { command -v "$1"; }

have_library() { ls /lib/*/"$1" /usr/lib/*/"$1" 2>/dev/null | grep -q .; }

have_at() { [ -x "$1" ]; }

have_file() { [ -f "$1" ]; }

have_compiler() { have "${CC:-cc}" || have gcc || have clang; }

# Static programs need the library's archive, which -print-file-name finds only where it is.
have_static_libc() {
	local compiler=${1:-}
	if [ -z "$compiler" ]; then
		compiler=$(have_compiler) || return 1
		compiler=${compiler%%$'\n'*}
	fi
	[ -f "$("$compiler" -print-file-name=libc.a)" ]
}

# need_cross ARCH COMPILER PACKAGE LIBC - the cross compiler of a probe, unless it is native
need_cross() {
	[ "$(uname -m)" != "$1" ] || return 0
	need "$3" have "$2"
	need "$4" have_static_libc "$2"
}

look_for_packages() {
	missing=()
	need make have make
	need python3 have "$python"
	need python3-venv "$python" -c 'import ensurepip, venv'
	need gcc have_compiler
	need libc6-dev have_static_libc
	[ "$level" != run ] || return 0
	need git have git
	need_cross x86_64 x86_64-linux-gnu-gcc gcc-x86-64-linux-gnu libc6-dev-amd64-cross
	need_cross aarch64 aarch64-linux-gnu-gcc gcc-aarch64-linux-gnu libc6-dev-arm64-cross
	need_cross armv7l arm-linux-gnueabihf-gcc gcc-arm-linux-gnueabihf libc6-dev-armhf-cross
	need_cross riscv64 riscv64-linux-gnu-gcc gcc-riscv64-linux-gnu libc6-dev-riscv64-cross
	# The checkers of remedies/.
	need g++ have g++
	need spin have spin
	need rumur have rumur
	need relacy-dev have_file /usr/include/relacy/relacy.hpp
	need qemu-user-static have qemu-arm-static
	need chromium have chromium
	# The virtual boards. Their kernels are fetched by `make lab`.
	need qemu-system-arm have qemu-system-aarch64
	need qemu-system-x86 have qemu-system-x86_64
	need qemu-system-misc have qemu-system-riscv64
	need opensbi have_file /usr/share/qemu/opensbi-riscv64-generic-fw_dynamic.bin
	need dpkg have dpkg-deb
	# A boot loader, for whole boards on the simulated bench.
	need u-boot-qemu have_file /usr/lib/u-boot/qemu_arm64/u-boot.bin
	# Debian's kernels are built with it, and so are the modules of injected faults.
	[ "$(uname -m)" != x86_64 ] || {
		need gcc-12 have gcc-12
		need gcc-12-aarch64-linux-gnu have aarch64-linux-gnu-gcc-12
		need libelf1 have_library libelf.so.1
		need libssl3 have_library libssl.so.3
	}
	# Boards over SSH, and the simulated bench.
	need openssh-client have ssh
	need openssh-server have_at /usr/sbin/sshd
	need dropbear-bin have_at /usr/sbin/dropbear
	need busybox-static have busybox
	need ser2net have_at /usr/sbin/ser2net
	need iproute2 have ip
	need util-linux have unshare
	need mount have_at /usr/sbin/losetup
	need e2fsprogs have_at /usr/sbin/mkfs.ext4
	need cpio have cpio
	[ "$level" != dev ] || return 0
	need rt-tests have cyclictest
	# What recorder and sections are compared with; libbpf-tools has runqlat and syscount.
	need linux-perf have perf
	need libbpf-tools have_at /usr/sbin/runqlat
	need bpftrace have bpftrace
}

install_packages() {
	local command=(apt-get install -y --no-install-recommends "${missing[@]}") root=()
	if ! have apt-get >/dev/null; then
		fail "install what Debian calls: ${missing[*]}"
	elif [ "$(id -u)" != 0 ]; then
		# -n: a password prompt would wait for ever where nobody sits.
		if ! sudo -n true 2>/dev/null; then
			fail "some packages are missing. Run: sudo apt-get update && sudo ${command[*]}"
		fi
		root=(sudo -n)
	fi
	say "installing with apt: ${missing[*]}"
	local apt=("${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq
		-o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0 -o Acquire::Retries=3)
	local log
	log=$(mktemp)
	# One broken third-party repository fails the update, and need not be ours.
	"${apt[@]}" update >"$log" 2>&1 || say "apt-get update had errors; trying all the same"
	"${apt[@]}" "${command[@]:1}" >>"$log" 2>&1 || {
		tail -n 40 "$log" >&2
		rm -f "$log"
		fail "apt-get could not install ${missing[*]}"
	}
	rm -f "$log"
	look_for_packages
	if [ ${#missing[@]} != 0 ]; then
		fail "still missing after installing: ${missing[*]} (for $python, ${CC:-cc})"
	fi
}

# What .venv was made from; a checkout that moved has scripts that point to where it was.
wanted() {
	echo "where $PWD"
	cat pyproject.toml constraints.txt tools/setup.sh | sha256sum
}

stamp() { echo "$venv/whylate-setup-$1"; }

venv_works() {
	[ -x "$venv/bin/python" ] &&
		"$venv/bin/python" -c 'import sys, pip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null
}

venv_is_elsewhere() {
	local file
	for file in "$venv"/whylate-setup-*; do
		[ ! -f "$file" ] || grep -qxF "where $PWD" "$file" || return 0
	done
	return 1
}

make_venv() {
	if [ -e "$venv" ]; then
		[ -f "$venv/pyvenv.cfg" ] || [ -z "$(ls -A "$venv")" ] ||
			fail "$PWD/$venv is not a virtual environment: move it away"
		say "$venv does not work any more: making it again"
		rm -rf "$venv"
	fi
	"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
		fail "whylate needs Python 3.11 or newer, $python is $("$python" -V 2>&1):" \
			"name another one, like PYTHON=python3.12 make setup"
	"$python" -m venv "$venv"
}

install_python_packages() {
	local extra=build
	[ "$level" = run ] || extra=dev
	local pip=("$venv/bin/python" -m pip install -q --disable-pip-version-check
		--no-warn-script-location -c constraints.txt)
	say "installing Python packages into $venv ($extra)"
	# The build backend comes first and pinned: build isolation would fetch any version of it.
	"${pip[@]}" hatchling
	"${pip[@]}" --no-build-isolation -e ".[$extra]"
}

# Two set-ups at once would install over each other.
if have flock >/dev/null; then
	exec 9<"tools/setup.sh"
	flock 9
fi

look_for_packages
[ ${#missing[@]} = 0 ] || install_packages
if ! venv_works || venv_is_elsewhere; then
	make_venv
fi
if [ "$(cat "$(stamp "$level")" 2>/dev/null)" != "$(wanted)" ]; then
	install_python_packages
	wanted >"$(stamp run)"
	[ "$level" = run ] || wanted >"$(stamp dev)"
	[ "$level" != bench ] || wanted >"$(stamp bench)"
fi
