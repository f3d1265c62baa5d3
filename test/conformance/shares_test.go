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

	"github.com/fairlead-io/fairlead/test/repeat"
)

const (
	// processes is the number of processes that share the specs. Most of the time specs wait for controllers of
	// Kubernetes, or check that nothing happens.
	processes = 5
	// claimsVariable is an environment variable with the folder in which processes claim specs. It is not set in the first
	// process.
	claimsVariable = "FAIRLEAD_CONFORMANCE_CLAIMS"
)

// claims is the folder in which this process claims specs. It is empty if this process runs all specs.
var claims string

// mine reports for the text of each earlier spec or Ordered container whether this process runs it.
var mine = map[string]bool{}

// equal has the texts that a second spec has, too.
var equal = map[string]bool{}

// share starts further processes of this program, so that several processes run the specs together. Each process has
// its own cluster, so that specs that count requests, or guard a type, are not disturbed by other specs. Each process
// runs the specs that no other process has claimed. The caller must call the returned function, which waits for the
// other processes and fails the test if one of them failed.
//
// If any flag of ginkgo is set, such as -ginkgo.focus, this process runs all specs, and its report contains all
// results.
func share(t *testing.T) (wait func()) {
	t.Helper()
	if claims = os.Getenv(claimsVariable); claims != "" || hasGinkgoFlags(os.Args[1:]) {
		return func() {}
	}
	claims = t.TempDir()
	// The other processes end with the thread that starts them, even if this process is killed.
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
	return slices.ContainsFunc(arguments, func(a string) bool {
		return strings.HasPrefix(strings.TrimLeft(a, "-"),
			"ginkgo.")
	})
}

// startOther starts a process that runs its share of the specs, and returns a function that waits for its end.
func startOther(t *testing.T) (wait func()) {
	t.Helper()
	// The other flags of this process are not passed on, because they name output files of this process.
	other := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$",
		"-test.timeout="+timeLeft(t).String())
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
			// The other process may have failed outside of specs, for example by a panic.
			t.Errorf("%s%s: the other process failed: %v\n%s", repeat.NotRepeated, t.Name(), err, &output)
		}
	}
}

// timeLeft returns the time until the deadline of the test, or zero if the test has no deadline. The flag -test.timeout
// has the same meaning of zero.
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
		Skip("another process runs this spec")
	}
})

// claim reports whether this process runs a spec. An Ordered container is claimed as a whole.
func claim(spec SpecReport) bool {
	GinkgoHelper()
	text := spec.FullText()
	if spec.IsInOrderedContainer {
		text = spec.ContainerHierarchyTexts[0]
	}
	if is, known := mine[text]; known {
		if !spec.IsInOrderedContainer && spec.NumAttempts == 1 {
			equal[text] = true
		}
		// Each attempt of the second spec fails.
		Expect(equal).NotTo(HaveKey(text), "two specs have this text, and one of them would never run: %s", text)
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

func TestTheSecondOfTwoEqualSpecsFailsInEachAttempt(t *testing.T) {
	RegisterFailHandler(Fail)
	claims = t.TempDir()
	defer func() { claims, mine, equal = "", map[string]bool{}, map[string]bool{} }()
	for _, c := range []struct {
		name     string
		text     string
		attempts int
		fails    bool
	}{
		{"a spec", "one", 1, false},
		{"its second attempt", "one", 2, false},
		{"another spec with its text", "one", 1, true},
		{"the second attempt of the other spec", "one", 2, true},
		{"a spec with another text", "two", 1, false},
	} {
		failures := InterceptGomegaFailures(func() { claim(SpecReport{LeafNodeText: c.text, NumAttempts: c.attempts}) })
		if (len(failures) > 0) != c.fails {
			t.Errorf("%s: failures %q", c.name, failures)
		}
	}
}
