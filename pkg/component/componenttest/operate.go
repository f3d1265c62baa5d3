package componenttest

import (
	"context"
	"errors"
	"fmt"
	"time"
)

const (
	// stopTime is how long an operator may take to return after its context ended.
	stopTime = 20 * time.Second
	// mostFailures is how often an operator may end by itself, as it does where it cannot start: it is started again,
	// as kubelet would.
	mostFailures = 20
)

var errStuck = fmt.Errorf("the operator did not return within %s after its context ended", stopTime)

// operate runs one operator after the other until ctx ends.
func (p *play[C]) operate(ctx context.Context) error {
	for failures := 0; ; {
		life := p.injector.revive(ctx)
		err := p.runOnce(life)
		switch {
		case errors.Is(err, errStuck):
			return err
		case ctx.Err() != nil:
			return nil
		case life.Err() != nil:
			if err := p.checkCrash(ctx); err != nil {
				return err
			}
			continue
		}
		if failures++; failures > mostFailures {
			return fmt.Errorf("the operator ends by itself: %w", err)
		}
		select {
		case <-time.After(time.Duration(failures) * pollTime):
		case <-ctx.Done():
			return nil
		}
	}
}

// runOnce runs an operator until it returns.
func (p *play[C]) runOnce(life context.Context) error {
	ended := make(chan error, 1)
	go func() { ended <- p.Operator(life, p.injector.Config(p.Config), p.namespace) }()
	select {
	case err := <-ended:
		if err == nil {
			err = errors.New("it returned without an error")
		}
		return err
	case <-life.Done():
	}
	select {
	case err := <-ended:
		return err
	case <-time.After(stopTime):
		return errStuck
	}
}

// checkCrash looks at what a process left that ended in the middle of its work: whatever it had written to must be
// recorded.
func (p *play[C]) checkCrash(ctx context.Context) error {
	for {
		_, underWay, _ := p.injector.requests()
		if underWay == 0 {
			break
		}
		select {
		case <-time.After(pollTime / 10):
		case <-ctx.Done():
			return nil
		}
	}
	found, err := p.look(ctx)
	if ctx.Err() != nil {
		return nil
	}
	if err != nil {
		return err
	}
	if len(found.leaked) > 0 {
		return fmt.Errorf("after a crash there are dependents that are not recorded: %v", found.leaked)
	}
	return nil
}
