package cli

import (
	"io"
	"sync"
)

// written remembers the first thing that could not be written: what a command says is part of what it does.
type written struct {
	out io.Writer

	mu   sync.Mutex
	err  error
	full func()
}

// Write implements io.Writer.
func (w *written) Write(text []byte) (int, error) {
	n, err := w.out.Write(text)
	if err != nil {
		w.fail(err)
	}
	return n, err
}

func (w *written) fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return
	}
	w.err = err
	if w.full != nil {
		w.full()
	}
}

// failure returns why something could not be written; nil where everything was.
func (w *written) failure() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// whenFull calls full once something cannot be written, for a command that would otherwise go on for nobody.
func (w *written) whenFull(full func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.full = full
}

// Unwrap returns what is written to.
func (w *written) Unwrap() io.Writer { return w.out }
