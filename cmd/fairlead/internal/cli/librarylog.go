package cli

import (
	"errors"
	"log"
	"strings"
	"sync"
)

// libraryLog is the output of the standard logger, to which the libraries of Helm and kustomize print warnings. Each
// warning is printed once, in the form of the other warnings, although a source may be rendered several times.
type libraryLog struct {
	warn func(error)

	mu   sync.Mutex
	told map[string]bool
}

// redirectLog lets the standard logger print warnings.
func redirectLog(warn func(error)) {
	log.SetFlags(0)
	log.SetOutput(&libraryLog{warn: warn, told: map[string]bool{}})
}

// Write implements io.Writer. The standard logger calls it once for each message.
func (l *libraryLog) Write(message []byte) (int, error) {
	text := strings.TrimSpace(string(message))
	if prefix := "warning: "; len(text) > len(prefix) && strings.EqualFold(text[:len(prefix)], prefix) {
		text = text[len(prefix):]
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.told[text] {
		l.told[text] = true
		l.warn(errors.New(text))
	}
	return len(message), nil
}
