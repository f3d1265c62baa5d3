package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/pkg/component"
)

// rateLimit is the value of the flag --rate-limit. The zero value sets no limit.
type rateLimit struct {
	passes int
	period time.Duration
}

// String implements flag.Value.
func (l *rateLimit) String() string {
	if l.passes == 0 {
		return ""
	}
	return fmt.Sprintf("%d/%s", l.passes, l.period)
}

// Set implements flag.Value.
func (l *rateLimit) Set(text string) error {
	passes, period, _ := strings.Cut(text, "/")
	count, err := strconv.Atoi(passes)
	within, invalid := time.ParseDuration(period)
	if err != nil || invalid != nil || count < 1 || within <= 0 {
		return errors.New("want a number of passes and a period, such as 10/1m")
	}
	*l = rateLimit{passes: count, period: within}
	return nil
}

// limiter returns the limiter of passes, nil if there is no limit.
func (l *rateLimit) limiter() component.Limiter {
	if l.passes == 0 {
		return nil
	}
	return component.PassesWithin(l.passes, l.period)
}
