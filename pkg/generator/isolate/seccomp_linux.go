//go:build linux && (amd64 || arm64)

package isolate

import (
	"os"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// deniedCalls are the system calls by which a process reaches files, other processes, the network or the kernel. A
// denied call fails with EPERM. Calls on open descriptors, memory and time remain.
var deniedCalls = append([]uint32{
	// Files.
	unix.SYS_OPENAT, unix.SYS_OPENAT2, unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_NAME_TO_HANDLE_AT, unix.SYS_NEWFSTATAT,
	unix.SYS_STATX, unix.SYS_FACCESSAT, unix.SYS_FACCESSAT2, unix.SYS_READLINKAT, unix.SYS_UNLINKAT,
	unix.SYS_RENAMEAT, unix.SYS_RENAMEAT2, unix.SYS_MKDIRAT, unix.SYS_MKNODAT, unix.SYS_LINKAT, unix.SYS_SYMLINKAT,
	unix.SYS_FCHMODAT, unix.SYS_FCHOWNAT, unix.SYS_UTIMENSAT, unix.SYS_TRUNCATE, unix.SYS_CHDIR, unix.SYS_CHROOT,
	unix.SYS_INOTIFY_INIT1, unix.SYS_FANOTIFY_INIT, unix.SYS_STATFS, unix.SYS_SETXATTR, unix.SYS_GETXATTR,
	// Network.
	unix.SYS_SOCKET, unix.SYS_SOCKETPAIR, unix.SYS_BIND, unix.SYS_CONNECT, unix.SYS_LISTEN, unix.SYS_ACCEPT,
	unix.SYS_ACCEPT4, unix.SYS_SENDTO, unix.SYS_SENDMSG, unix.SYS_SENDMMSG, unix.SYS_RECVMSG,
	// Processes.
	unix.SYS_EXECVE, unix.SYS_EXECVEAT, unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV,
	unix.SYS_PIDFD_OPEN, unix.SYS_PIDFD_GETFD, unix.SYS_PIDFD_SEND_SIGNAL, unix.SYS_KCMP, unix.SYS_SETNS,
	unix.SYS_UNSHARE, unix.SYS_SETSID, unix.SYS_SETPGID,
	// The kernel.
	unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN,
	unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER, unix.SYS_USERFAULTFD,
	unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE,
	unix.SYS_SHMGET, unix.SYS_SEMGET, unix.SYS_MSGGET, unix.SYS_MQ_OPEN,
}, deniedLegacyCalls...)

// Offsets in the structure seccomp_data.
const (
	offsetNumber   = 0
	offsetArch     = 4
	offsetArgument = 16
)

// Results of the filter.
const (
	allow = unix.SECCOMP_RET_ALLOW
	deny  = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
	// The C library falls back to clone if clone3 does not exist.
	absent = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
)

// filterCalls denies system calls in all threads of the process.
func filterCalls() error {
	filter := callFilter(uint32(os.Getpid()))
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC,
		uintptr(unsafe.Pointer(&program)))
	if errno != 0 {
		return errno
	}
	return nil
}

// callFilter returns the filter. A process may create threads, and send signals to itself only.
func callFilter(pid uint32) []unix.SockFilter {
	filter := slices.Concat(
		[]unix.SockFilter{load(offsetArch)}, unless(auditArch, deny),
		[]unix.SockFilter{load(offsetNumber)}, foreignNumbers,
		when(unix.SYS_CLONE3, absent),
	)
	for _, number := range deniedCalls {
		filter = append(filter, when(number, deny)...)
	}
	return slices.Concat(filter,
		denyUnless(unix.SYS_CLONE, jump(unix.BPF_JSET, unix.CLONE_THREAD)),
		denyUnless(unix.SYS_KILL, jump(unix.BPF_JEQ, pid)),
		denyUnless(unix.SYS_TGKILL, jump(unix.BPF_JEQ, pid)),
		denyUnless(unix.SYS_TKILL, jump(unix.BPF_JEQ, pid)),
		[]unix.SockFilter{result(allow)},
	)
}

func load(offset uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset}
}

func result(value uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: value}
}

// jump skips one instruction if the comparison holds.
func jump(comparison uint16, value uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_JMP | comparison | unix.BPF_K, Jt: 1, K: value}
}

// when returns a value for a system call.
func when(number, value uint32) []unix.SockFilter {
	return []unix.SockFilter{{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: 1, K: number}, result(value)}
}

// unless returns a value if the loaded word differs.
func unless(word, value uint32) []unix.SockFilter {
	return []unix.SockFilter{jump(unix.BPF_JEQ, word), result(value)}
}

// denyUnless denies a system call unless the comparison holds for its first argument.
func denyUnless(number uint32, comparison unix.SockFilter) []unix.SockFilter {
	return []unix.SockFilter{
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: 4, K: number},
		load(offsetArgument), comparison, result(deny), result(allow),
	}
}
