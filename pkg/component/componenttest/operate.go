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
	// mostFailures is the number of times that an operator may end by itself, for example because it cannot start. As
	// kubelet does, operate then restarts the operator.
	mostFailures = 20
)

var errStuck = fmt.Errorf("the operator did not return within %s after its context ended", stopTime)

// operate runs the operator until ctx ends, and restarts the operator when it ends.
func (p *run[C]) operate(ctx context.Context) error {
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
func (p *run[C]) runOnce(life context.Context) error {
	ended := make(chan error, 1)
	ctx := context.WithValue(life, injectorKey{}, p.injector)
	go func() { ended <- p.Operator(ctx, p.injector.Config(p.Config), p.namespace) }()
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

// checkCrash checks the cluster after the operator was stopped in the middle of a pass. It waits until the operator's
// last requests have ended, and returns an error if the inventory does not contain a dependent that the operator wrote.
func (p *run[C]) checkCrash(ctx context.Context) error {
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
		return fmt.Errorf("after a crash there are dependents that are not in the inventory: %v", found.leaked)
	}
	return nil
}
