package cluster

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

const (
	lockFile        = "lock"
	kubeconfigFile  = "kubeconfig"
	auditLogFile    = "audit.log"
	auditPolicyFile = "audit-policy.yaml"
	egressFile      = "egress.yaml"
	echoSocket      = "echo.sock"
	pkiFolder       = "pki"
	logFolder       = "logs"
	etcdFolder      = "etcd"
	kwokFolder      = "kwok"
)

// UsageError is a mistake of the caller. Nothing was started, and the message contains the necessary change.
type UsageError struct{ message string }

func (e UsageError) Error() string { return e.message }

// NewUsageError returns a UsageError with a formatted message.
func NewUsageError(format string, arguments ...any) UsageError {
	return UsageError{fmt.Sprintf(format, arguments...)}
}

// Folder contains the credentials, data and logs of one cluster.
type Folder struct {
	path string
	lock *os.File
}

// ClaimFolder locks the folder for this process and removes the files of an earlier cluster. It returns a UsageError if
// another cluster runs in the folder, or if the folder contains files that no cluster wrote. The lock is released when
// the process ends for any reason.
func ClaimFolder(path string) (Folder, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return Folder{}, fmt.Errorf("folder %s: %w", path, err)
	}
	if err := checkContents(absolute); err != nil {
		return Folder{}, err
	}
	if err := os.MkdirAll(absolute, 0o700); err != nil {
		return Folder{}, NewUsageError("folder %s cannot be created: %v", path, err)
	}
	lock, err := os.OpenFile(filepath.Join(absolute, lockFile), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return Folder{}, NewUsageError("folder %s cannot be written: %v", path, err)
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = lock.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return Folder{}, NewUsageError("folder %s is in use by a running cluster; stop it or choose another --dir", path)
		}
		return Folder{}, fmt.Errorf("lock %s: %w", lock.Name(), err)
	}
	folder := Folder{path: absolute, lock: lock}
	return folder, folder.clear()
}

// checkContents returns an error unless the folder does not exist, is empty, or contains the lock file of a cluster.
func checkContents(path string) error {
	entries, err := os.ReadDir(path)
	if errors.Is(err, os.ErrNotExist) || (err == nil && len(entries) == 0) {
		return nil
	}
	if err != nil {
		return NewUsageError("folder %s cannot be read: %v", path, err)
	}
	isLock := func(entry os.DirEntry) bool { return entry.Name() == lockFile }
	if !slices.ContainsFunc(entries, isLock) {
		return NewUsageError("folder %s contains other files; choose an empty or a new folder", path)
	}
	return nil
}

// clear empties the folder and creates the sub-folders of the components.
func (f Folder) clear() error {
	for _, name := range []string{
		kubeconfigFile, auditLogFile, auditPolicyFile, egressFile, echoSocket, pkiFolder, logFolder, etcdFolder, kwokFolder,
	} {
		if err := os.RemoveAll(f.file(name)); err != nil {
			return fmt.Errorf("remove what an earlier cluster left: %w", err)
		}
	}
	for _, name := range []string{pkiFolder, logFolder, etcdFolder, kwokFolder} {
		if err := os.Mkdir(f.file(name), 0o700); err != nil {
			return fmt.Errorf("create a folder of the cluster: %w", err)
		}
	}
	return nil
}

// dropData removes the data, which needs much space and is not used again.
func (f Folder) dropData() error {
	if err := os.RemoveAll(f.file(etcdFolder)); err != nil {
		return fmt.Errorf("remove the cluster's data: %w", err)
	}
	return nil
}

// Release releases the lock.
func (f Folder) Release() error { return f.lock.Close() }

// Kubeconfig returns the path of the administrator's kubeconfig.
func (f Folder) Kubeconfig() string { return f.file(kubeconfigFile) }

func (f Folder) log(component string) string { return f.file(logFolder, component+".log") }

func (f Folder) file(parts ...string) string {
	return filepath.Join(append([]string{f.path}, parts...)...)
}

// write replaces a file. Only the owner of the file can read it.
func (f Folder) write(content []byte, parts ...string) error {
	if err := os.WriteFile(f.file(parts...), content, 0o600); err != nil {
		return fmt.Errorf("write %s: %w", strings.Join(parts, "/"), err)
	}
	return nil
}
