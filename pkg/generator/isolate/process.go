package isolate

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fairlead-io/fairlead/pkg/generator"
)

const (
	// maxLog is the size of the beginning of a child's log that is kept.
	maxLog = 8 << 10
	// maxStart is the maximum time of the start of a child.
	maxStart = 30 * time.Second
	// maxThreads is GOMAXPROCS of a child: a rendering uses one thread, and the garbage collector another.
	maxThreads = 2
	mebibyte   = 1 << 20
)

// process is a child, as the parent sees it.
type process struct {
	options Options
	process *os.Process
	to      *os.File
	from    *bufio.Reader
	pipe    *os.File
	log     *beginning
	// killed is set when this process killed the child. ended is closed when the child has ended.
	killed atomic.Bool
	// lowered is set when the priority of the child was lowered for a long rendering.
	lowered atomic.Bool
	ended   chan struct{}
	state   *os.ProcessState

	// last is the component that was rendered last, renderings the number of renderings, and began the time at which the
	// last one began.
	last       string
	renderings int
	began      time.Time
}

// pipes are the pipes of a child: for requests, answers and the log, each with the end for reading first.
type pipes [6]*os.File

func newPipes() (p pipes, err error) {
	for i := 0; i < len(p); i += 2 {
		if p[i], p[i+1], err = os.Pipe(); err != nil {
			p.close(0, 1, 2, 3, 4, 5)
			return p, err
		}
	}
	return p, nil
}

func (p pipes) close(ends ...int) {
	for _, end := range ends {
		if p[end] != nil {
			_ = p[end].Close()
		}
	}
}

// startProcess starts a child and waits until it is confined.
func startProcess(ctx context.Context, s *spawner, c codec, o Options) (*process, *ready, error) {
	ends, err := newPipes()
	if err != nil {
		return nil, nil, err
	}
	started, err := s.start([]*os.File{ends[0], ends[5], ends[5], ends[3]}, environment())
	ends.close(0, 3, 5)
	if err != nil {
		ends.close(1, 2, 4)
		return nil, nil, err
	}
	p := &process{
		options: o, process: started, to: ends[1], from: bufio.NewReader(ends[2]), pipe: ends[2],
		log: &beginning{}, ended: make(chan struct{}),
	}
	go p.wait(ends[4])
	timer := time.AfterFunc(maxStart, p.kill)
	defer timer.Stop()
	err = c.write(p.to, message{Setup: &setup{Memory: o.Memory, Timeout: o.Timeout}})
	var m message
	if err == nil {
		m, err = c.read(ctx, p.from)
	}
	switch {
	case err != nil:
		p.kill()
		<-p.ended
		return nil, nil, fmt.Errorf("%w (%s); the program must call isolate.Main: %s", err, p.state, p.log.firstLine())
	case m.Ready == nil || m.Ready.Failed != "":
		p.kill()
		if m.Ready == nil {
			return nil, nil, errors.New("the process sent an invalid answer")
		}
		return nil, nil, errors.New(m.Ready.Failed)
	}
	return p, m.Ready, nil
}

// environment returns the environment of a child: the settings of the Go runtime, and the time zone, which templates
// see.
func environment() []string {
	variables := []string{"GOTRACEBACK=none", "GOMAXPROCS=" + strconv.Itoa(min(maxThreads, runtime.GOMAXPROCS(0)))}
	if zone, ok := os.LookupEnv("TZ"); ok {
		variables = append(variables, "TZ="+zone)
	}
	return variables
}

// wait reads the log of the child until it ends, and collects its state.
func (p *process) wait(log *os.File) {
	_, _ = io.Copy(p.log, log)
	_ = log.Close()
	p.state, _ = p.process.Wait()
	_ = p.to.Close()
	_ = p.pipe.Close()
	close(p.ended)
}

func (p *process) isAlive() bool {
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

// kill ends the child.
func (p *process) kill() {
	p.killed.Store(true)
	_ = p.process.Kill()
}

// lower lowers the priority of the child for a long rendering, so that the renderings of others come first.
func (p *process) lower() {
	p.lowered.Store(true)
	lowerPriority(p.process.Pid)
}

func (p *process) elapsed() time.Duration { return time.Since(p.began) }

// causeOf returns the error of a rendering whose child ended or was killed. cause is the reason why the context of the
// rendering ended, or nil. failure is the error of the conversation.
func (p *process) causeOf(cause, failure error) error {
	if cause != nil && !errors.Is(cause, errTimeout) {
		return cause
	}
	<-p.ended
	text := ""
	if refused, ok := errors.AsType[*refusedError](failure); ok {
		text = refused.reason
	}
	switch crash := p.log.crash(); {
	case cause != nil:
		text = fmt.Sprintf("it took longer than %s", seconds(p.options.Timeout))
	case crash == crashMemory:
		text = fmt.Sprintf("it needed more than %d MiB of memory", p.options.Memory/mebibyte)
	case crash == crashStack:
		text = "its calls or its data nest too deep (stack overflow)"
	case text == "" && errors.Is(failure, io.EOF), text == "" && errors.Is(failure, io.ErrUnexpectedEOF),
		text == "" && errors.Is(failure, os.ErrClosed), text == "" && isBrokenPipe(failure):
		text = fmt.Sprintf("its process ended before the rendering was complete (%s)", p.state)
	case text == "":
		text = "its process sent an invalid message"
	}
	return &generator.KilledError{Cause: text}
}

func seconds(d time.Duration) string {
	if d%time.Second == 0 {
		return strconv.Itoa(int(d/time.Second)) + " s"
	}
	return d.String()
}

// refusedError is the error of a child that asks for too much.
type refusedError struct{ reason string }

// Error implements error.
func (e *refusedError) Error() string { return e.reason }

// crash is a kind of crash of a Go program.
type crash string

const (
	crashMemory crash = "memory"
	crashStack  crash = "stack"
)

// crashes are texts in the log of a Go program that has crashed.
var crashes = []struct {
	text string
	kind crash
}{
	{"stack exceeds", crashStack},
	{"stack overflow", crashStack},
	{"out of memory", crashMemory},
	{"cannot allocate memory", crashMemory},
	{"failed to create new OS thread", crashMemory},
	{"pthread_create failed", crashMemory},
	{"failed to allocate", crashMemory},
	{"mmap", crashMemory},
}

// beginning keeps the beginning of a text. The text may contain data of a request, so it is neither logged nor
// reported.
type beginning struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer. It never fails.
func (b *beginning) Write(text []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.text.Write(text[:min(len(text), maxLog-b.text.Len())])
	return len(text), nil
}

func (b *beginning) firstLine() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	line, _, _ := strings.Cut(b.text.String(), "\n")
	return line
}

// crash returns the kind of crash, or an empty text.
func (b *beginning) crash() crash {
	b.mu.Lock()
	defer b.mu.Unlock()
	text := b.text.String()
	for _, known := range crashes {
		if strings.Contains(text, known.text) {
			return known.kind
		}
	}
	return ""
}

// watch kills the child when the context ends. The caller calls the returned function after the rendering.
func (p *process) watch(ctx context.Context) (stop func() bool) {
	p.began = time.Now()
	return context.AfterFunc(ctx, p.kill)
}
