package isolate

import (
	"debug/elf"
	"fmt"
	"math"
	"os"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	// program is this program, also after its file was replaced.
	program = "/proc/self/exe"
	// niceness is the priority of children: other work comes first. longNiceness is the one of children with a long
	// rendering: quick renderings come first.
	niceness, longNiceness = 10, 19
)

// spawner starts processes from a thread of its own. The thread has the restrictions of the children, which inherit
// them: files and TCP with Landlock, no new privileges, low priority. So a child is restricted from its first
// instruction, in all its threads. The other threads of this process have no restriction. The thread also lives as long
// as the spawner: the kernel kills a child when the thread that started it ends.
type spawner struct{ starts chan start }

type start struct {
	attributes *os.ProcAttr
	started    chan started
}

type started struct {
	process *os.Process
	err     error
}

func newSpawner() *spawner {
	s := &spawner{starts: make(chan start)}
	go s.run()
	return s
}

func (s *spawner) run() {
	// The thread is never unlocked, so it ends with this function, and no other goroutine runs on it.
	runtime.LockOSThread()
	restrictThread()
	for request := range s.starts {
		// Descriptors that were opened without O_CLOEXEC are closed in the child.
		_ = unix.CloseRange(firstOther, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC)
		process, err := os.StartProcess(program, []string{program, childArgument}, request.attributes)
		request.started <- started{process, err}
	}
}

// firstOther is the first descriptor that is not a standard one.
const firstOther = 3

// start starts a child with the given descriptors and environment.
func (s *spawner) start(files []*os.File, environment []string) (*os.Process, error) {
	request := start{started: make(chan started, 1), attributes: &os.ProcAttr{
		Dir: "/", Env: environment, Files: files, Sys: &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL},
	}}
	s.starts <- request
	result := <-request.started
	return result.process, result.err
}

// close ends the thread. The kernel kills the children.
func (s *spawner) close() { close(s.starts) }

// restrictThread restricts the calling thread. A measure that the system does not support is left out; the children
// report it.
func restrictThread() {
	_ = unix.Setpriority(unix.PRIO_PROCESS, 0, niceness)
	if unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != nil {
		return
	}
	restrictFiles()
}

// lowerPriority gives all threads of a child the least priority. The child leads a process group and a session.
// Outside of a control group with a share of the processors, the kernel may divide them among sessions, and ignores the
// priorities of processes of other sessions (sched_autogroup_enabled, see man 7 sched). So the session gets a low
// priority, too; not the least, because all programs of the machine compete with it. A kernel that does not divide the
// processors in this way lacks the file.
func lowerPriority(pid int) {
	_ = unix.Setpriority(unix.PRIO_PGRP, pid, longNiceness)
	_ = os.WriteFile(fmt.Sprintf("/proc/%d/autogroup", pid), fmt.Append(nil, niceness), 0)
}

// landlockVersion returns the version of Landlock, or 0 without Landlock.
func landlockVersion() int {
	version, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(version)
}

// Versions of Landlock that can restrict more.
const (
	versionRefer    = 2
	versionTruncate = 3
	versionTCP      = 4
	versionDevices  = 5
	versionScopes   = 6
)

// restrictFiles forbids the calling thread all files but this program, and TCP.
func restrictFiles() {
	version := landlockVersion()
	if version < 1 {
		return
	}
	rules := unix.LandlockRulesetAttr{Access_fs: unix.LANDLOCK_ACCESS_FS_MAKE_SYM<<1 - 1}
	if version >= versionRefer {
		rules.Access_fs |= unix.LANDLOCK_ACCESS_FS_REFER
	}
	if version >= versionTruncate {
		rules.Access_fs |= unix.LANDLOCK_ACCESS_FS_TRUNCATE
	}
	if version >= versionTCP {
		rules.Access_net = unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
	}
	if version >= versionDevices {
		rules.Access_fs |= unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	}
	if version >= versionScopes {
		// Signals are left to seccomp: early versions of this scope also affect the threads of one process.
		rules.Scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET
	}
	ruleset, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET,
		uintptr(unsafe.Pointer(&rules)), unsafe.Sizeof(rules), 0)
	if errno != 0 {
		return
	}
	defer func() { _ = unix.Close(int(ruleset)) }()
	// A file can be executed only by a process that may read it.
	const execute = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE
	permit(ruleset, program, execute)
	if isDynamic() {
		for _, folder := range []string{"/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib"} {
			permit(ruleset, folder, execute)
		}
		permit(ruleset, "/etc/ld.so.cache", unix.LANDLOCK_ACCESS_FS_READ_FILE)
	}
	_, _, _ = unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, ruleset, 0, 0)
}

// permit permits access to a file, or to the files below a folder. A path that does not exist is ignored.
func permit(ruleset uintptr, path string, access uint64) {
	descriptor, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	defer func() { _ = unix.Close(descriptor) }()
	rule := unix.LandlockPathBeneathAttr{Allowed_access: access, Parent_fd: int32(descriptor)}
	_, _, _ = unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, ruleset, unix.LANDLOCK_RULE_PATH_BENEATH,
		uintptr(unsafe.Pointer(&rule)), 0, 0, 0)
}

// isDynamic reports whether this program needs shared libraries at its start. A program that is built with
// CGO_ENABLED=0 needs none.
func isDynamic() bool {
	file, err := elf.Open(program)
	if err != nil {
		return true
	}
	defer func() { _ = file.Close() }()
	for _, part := range file.Progs {
		if part.Type == elf.PT_INTERP {
			return true
		}
	}
	return false
}
