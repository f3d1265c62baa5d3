package progress_test

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/progress"
)

// terminal simulates a terminal. It stores the visible lines, and interprets the sequences that a Block writes.
type terminal struct {
	lines  []string
	writes int
}

var sequence = regexp.MustCompile(`^\x1b\[(\d*)([AJ])`)

func (t *terminal) Write(text []byte) (int, error) {
	t.writes++
	rest := string(text)
	for rest != "" {
		if found := sequence.FindStringSubmatch(rest); found != nil {
			if n, err := strconv.Atoi(found[1]); found[2] == "A" && err == nil {
				t.lines = t.lines[:len(t.lines)-n] // The next sequence erases the lines below the cursor.
			}
			rest = rest[len(found[0]):]
			continue
		}
		line, more, ended := strings.Cut(rest, "\n")
		Expect(ended).To(BeTrue(), "a line without line break: %q", rest)
		t.lines, rest = append(t.lines, line), more
	}
	return len(text), nil
}

var _ = Describe("Block", func() {
	var screen *terminal
	var block *progress.Block
	BeforeEach(func() {
		screen = &terminal{lines: []string{"component.fairlead.io/shop created"}}
		block = progress.NewBlock(screen, func() (int, int) { return 20, 5 })
	})
	show := func(lines ...string) []string {
		block.Show(progress.Report{Lines: lines})
		return screen.lines[1:]
	}

	It("replaces the previous report, and keeps the lines above the block", func() {
		Expect(show("wave 0: 2/6 ready", "waiting for a", "waiting for b")).To(HaveLen(3))
		Expect(show("wave 1: 4/6 ready", "waiting for c")).To(Equal([]string{"wave 1: 4/6 ready", "waiting for c"}))
		Expect(show("ready: 6/6")).To(Equal([]string{"ready: 6/6"}))
		Expect(screen.lines[0]).To(Equal("component.fairlead.io/shop created"))
	})

	It("removes its lines after a report without lines", func() {
		show("wave 0: 2/6 ready", "waiting for a")
		Expect(show()).To(BeEmpty())
		Expect(show("again")).To(Equal([]string{"again"}))
	})

	It("makes one write for each report, and none for an unchanged report", func() {
		show("a", "b")
		show("a", "b")
		show("c")
		Expect(screen.writes).To(Equal(2))
	})

	It("shortens long lines, and leaves out lines that do not fit on the screen", func() {
		Expect(show("12345678901234567890", "1234567890123456789", "ä2345678901234567890")).To(Equal(
			[]string{"123456789012345678…", "1234567890123456789", "ä23456789012345678…"}))
		Expect(show("1", "2", "3", "4")).To(Equal([]string{"1", "2", "3", "4"}))
		Expect(show("1", "2", "3", "4", "5")).To(Equal([]string{"1", "2", "3", "… and 2 more lines"}))
	})

	It("replaces control characters in messages by the character U+FFFD", func() {
		Expect(show("a\x1b[2Jb\rc\nd\u009b")).To(Equal([]string{"a\ufffd[2Jb\ufffdc\ufffdd\ufffd"}))
	})
})

var _ = Describe("NewDisplay", func() {
	DescribeTable("writes each different line once to a writer that is no terminal",
		func(open func() (written func() string, display progress.Display)) {
			written, display := open()
			display.Show(progress.Report{Lines: []string{"wave 0", "waiting for a"}})
			display.Show(progress.Report{Lines: []string{"wave 0", "waiting for b"}})
			Expect(written()).To(Equal("wave 0\nwaiting for a\nwaiting for b\n"))
		},
		Entry("a buffer", func() (func() string, progress.Display) {
			var out bytes.Buffer
			return out.String, progress.NewDisplay(&out)
		}),
		Entry("a file", func() (func() string, progress.Display) {
			file, err := os.Create(filepath.Join(GinkgoT().TempDir(), "log"))
			Expect(err).NotTo(HaveOccurred())
			DeferCleanup(file.Close)
			return func() string {
				text, err := os.ReadFile(file.Name())
				Expect(err).NotTo(HaveOccurred())
				return string(text)
			}, progress.NewDisplay(file)
		}),
	)
})
