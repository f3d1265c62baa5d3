package logging

import (
	"context"
	"errors"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
)

// The levels of client-go: level 7 logs URLs and headers with masked credentials, and level 8 logs bodies.
const (
	maxLevel  = 7
	bodyLevel = 8
)

// WithoutBodies returns a logger that drops messages above level 7.
func WithoutBodies(logger logr.Logger) logr.Logger {
	sink := logger.GetSink()
	if sink == nil {
		return logger
	}
	if _, ok := sink.(limited); ok {
		return logger
	}
	if nested, ok := sink.(logr.CallDepthLogSink); ok {
		// The methods of limited are a frame of the call stack.
		sink = nested.WithCallDepth(1)
	}
	return logger.WithSink(limited{sink})
}

// Into returns a context whose logger drops messages above level 7. The logger is the one in ctx, or else fallback.
func Into(ctx context.Context, fallback logr.Logger) context.Context {
	logger, err := logr.FromContext(ctx)
	if err != nil {
		logger = fallback
	}
	return logr.NewContext(ctx, WithoutBodies(logger))
}

// Context is Into with the logger of klog as the fallback.
func Context(ctx context.Context) context.Context { return Into(ctx, klog.Background()) }

// Check returns an error if client-go would log bodies although ctx comes from Into. That is so if the program turned
// off contextual logging in klog, and raised the level of klog.
func Check(ctx context.Context) error {
	if klog.FromContext(ctx).V(bodyLevel).Enabled() {
		return errors.New("klog logs the bodies of requests, with contents of Secrets: set its level to 7 or less, or do " +
			"not turn off contextual logging")
	}
	return nil
}

// limited is a sink that drops messages above level 7.
type limited struct{ logr.LogSink }

// Enabled implements logr.LogSink.
func (l limited) Enabled(level int) bool { return level <= maxLevel && l.LogSink.Enabled(level) }

// Info implements logr.LogSink.
func (l limited) Info(level int, message string, keysAndValues ...any) {
	if level <= maxLevel {
		l.LogSink.Info(level, message, keysAndValues...)
	}
}

// Error implements logr.LogSink.
func (l limited) Error(err error, message string, keysAndValues ...any) {
	l.LogSink.Error(err, message, keysAndValues...)
}

// WithValues implements logr.LogSink.
func (l limited) WithValues(keysAndValues ...any) logr.LogSink {
	return limited{l.LogSink.WithValues(keysAndValues...)}
}

// WithName implements logr.LogSink.
func (l limited) WithName(name string) logr.LogSink { return limited{l.LogSink.WithName(name)} }

// WithCallDepth implements logr.CallDepthLogSink.
func (l limited) WithCallDepth(depth int) logr.LogSink {
	if sink, ok := l.LogSink.(logr.CallDepthLogSink); ok {
		return limited{sink.WithCallDepth(depth)}
	}
	return l
}
