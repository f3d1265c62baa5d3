package logs

import (
	"bufio"
	"hash/fnv"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/terminal"
)

// line is a line of a log.
type line struct {
	at time.Time
	// stamp is the unchanged text of the timestamp. text is the rest of the line without its end.
	stamp, text string
}

// reader reads lines of any length.
type reader struct {
	lines *bufio.Reader
	last  time.Time
}

func newReader(log io.Reader) *reader { return &reader{lines: bufio.NewReader(log)} }

// next returns the next line, or io.EOF. A line without a timestamp has the time of the previous line.
func (r *reader) next() (line, error) {
	text, err := r.lines.ReadString('\n')
	if err != nil && text == "" {
		return line{}, err
	}
	text = strings.TrimSuffix(text, "\n")
	stamp, rest, _ := strings.Cut(text, " ")
	at, failure := time.Parse(time.RFC3339Nano, stamp)
	if failure != nil {
		return line{at: r.last, text: text}, nil
	}
	r.last = at
	return line{at: at, stamp: stamp, text: rest}, nil
}

// printer writes lines of several logs. Concurrent writes do not mix parts of lines.
type printer struct {
	options Options
	mu      sync.Mutex
	out     io.Writer
}

// tones are the colours of prefixes.
var tones = []terminal.Tone{"36", "32", "33", "35", "34", "96", "92", "93", "95", "94"}

func (p *printer) print(s Container, l line) error {
	var text strings.Builder
	if p.options.Prefix {
		hash := fnv.New32a()
		_, _ = hash.Write([]byte(s.Pod))
		text.WriteString(p.options.Palette.In(tones[hash.Sum32()%uint32(len(tones))], "["+s.String()+"]") + " ")
	}
	if p.options.Timestamps && l.stamp != "" {
		text.WriteString(l.stamp + " ")
	}
	text.WriteString(l.text + "\n")
	p.mu.Lock()
	defer p.mu.Unlock()
	_, err := io.WriteString(p.out, text.String())
	return err
}
