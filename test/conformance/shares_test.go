package conformance_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

const (
	// processes is how many share the specs. Most of a spec's time is waiting, for Kubernetes' controllers and for
	// nothing to happen.
	processes = 3
	// claimsVariable names the folder in which the processes claim specs; it is set in all but the first.
	claimsVariable = "FAIRLEAD_CONFORMANCE_CLAIMS"
)

// claims is the folder in which this process claims specs, "" where it runs all of them.
var claims string

// mine says of each spec, or Ordered container, that came so far, by its text, whether it is this process's.
var mine = map[string]bool{}

// share starts this program again, so that several processes do the specs together, each with a cluster of its own:
// specs that count requests, or guard a type, stay alone there with their operator. Each process takes what no other
// has begun. The caller must call the result, which waits for the others and fails the test with them.
//
// With any flag of ginkgo's, such as -ginkgo.focus, one process does all, and its report tells all.
func share(t *testing.T) (wait func()) {
	t.Helper()
	if claims = os.Getenv(claimsVariable); claims != "" || hasGinkgoFlags(os.Args[1:]) {
		return func() {}
	}
	claims = t.TempDir()
	// The others end with the thread that starts them, even if this process is killed.
	runtime.LockOSThread()
	var waits []func()
	for range processes - 1 {
		waits = append(waits, startOther(t))
	}
	return func() {
		for _, wait := range waits {
			wait()
		}
		runtime.UnlockOSThread()
	}
}

func hasGinkgoFlags(arguments []string) bool {
	return slices.ContainsFunc(arguments, func(a string) bool { return strings.HasPrefix(strings.TrimLeft(a, "-"), "ginkgo.") })
}

// startOther starts a process that takes its share, and returns what waits for its end.
func startOther(t *testing.T) (wait func()) {
	t.Helper()
	// None of our other flags: they name files that are ours.
	other := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.timeout="+timeLeft(t).String())
	other.Env = append(os.Environ(), claimsVariable+"="+claims)
	other.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	var output bytes.Buffer
	other.Stdout, other.Stderr = &output, &output
	if err := other.Start(); err != nil {
		t.Fatalf("start another process for the specs: %v", err)
	}
	return func() {
		err := other.Wait()
		if err != nil {
			t.Errorf("another process: %v\n%s", err, &output)
		}
	}
}

// timeLeft is zero where there is no limit, as -test.timeout has it.
func timeLeft(t *testing.T) time.Duration {
	t.Helper()
	deadline, limited := t.Deadline()
	if !limited {
		return 0
	}
	return time.Until(deadline)
}

var _ = BeforeEach(func() {
	if claims != "" && !claim(CurrentSpecReport()) {
		Skip("another process runs it")
	}
})

// claim tells whether this process runs a spec. An Ordered container is claimed as a whole.
func claim(spec SpecReport) bool {
	GinkgoHelper()
	text := spec.FullText()
	if spec.IsInOrderedContainer {
		text = spec.ContainerHierarchyTexts[0]
	}
	if is, known := mine[text]; known {
		Expect(spec.IsInOrderedContainer).To(BeTrue(), "another spec has this text, and one of them would never run: %s", text)
		return is
	}
	sum := sha256.Sum256([]byte(text))
	file, err := os.OpenFile(filepath.Join(claims, hex.EncodeToString(sum[:])), os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		mine[text] = false
		return false
	}
	Expect(err).NotTo(HaveOccurred())
	mine[text] = true
	Expect(file.Close()).To(Succeed())
	return true
}
