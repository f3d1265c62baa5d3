package main

import (
	"log"
	"os"
	"strings"

	"github.com/go-logr/logr"
)

// libraryLog is the output of the standard logger: it logs what libraries print. The warnings of Helm and kustomize
// about a source are left out. They do not name the component, and may have values. The process of a rendering leaves
// them out, too.
type libraryLog struct{ logger logr.Logger }

// Write implements io.Writer. The standard logger calls it once for each message.
func (l libraryLog) Write(message []byte) (int, error) {
	text := strings.TrimSpace(string(message))
	isWarning := strings.HasPrefix(strings.ToLower(text), "warning: ") || strings.HasPrefix(text, "well-defined vars ")
	if !isWarning {
		l.logger.Info("a library reports", "text", text)
	}
	return len(message), nil
}

// redirectLibraries lets the standard logger print to the log of the operator.
func redirectLibraries(logger logr.Logger) {
	log.SetFlags(0)
	log.SetOutput(libraryLog{logger})
}

// withoutStderr returns the standard error of the process, and takes it from libraries: kustomize prints a line there
// about each deprecated field, for each rendering. The stack of a crash is still printed.
func withoutStderr() *os.File {
	stderr := os.Stderr
	if discard, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0); err == nil {
		os.Stderr = discard
	}
	return stderr
}
