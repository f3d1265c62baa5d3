package notification

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// receiver is a transport without a network, so that tests can use the clock of synctest.
type receiver func(*http.Request) (int, error)

// RoundTrip implements http.RoundTripper.
func (f receiver) RoundTrip(r *http.Request) (*http.Response, error) {
	status, err := f(r)
	if err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: status, Body: http.NoBody, Request: r, Header: http.Header{}}, nil
}

// simulate returns a Poster with the default limits and a transport without a network.
func simulate(t *testing.T, answer receiver) (*Poster, *logged) {
	t.Helper()
	p, log := newPoster(t, "http://events.example.com")
	p.limits = defaults
	p.client.Transport = answer
	return p, log
}

// isAway is a receiver to which there is no connection.
func isAway(*http.Request) (int, error) { return 0, errors.New("away") }

// hangs is a receiver that does not answer.
func hangs(r *http.Request) (int, error) {
	<-r.Context().Done()
	return 0, context.Cause(r.Context())
}

func TestEventsAreKeptWhileTheReceiverIsAwayForMinutes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		back := time.Now().Add(2 * time.Minute)
		var got []string
		p, log := simulate(t, func(r *http.Request) (int, error) {
			if time.Now().Before(back) {
				return http.StatusBadGateway, nil
			}
			body, err := io.ReadAll(r.Body)
			got = append(got, string(body))
			return http.StatusAccepted, err
		})
		stop := p.Start(t.Context())
		for i := range 5 {
			p.send(fmt.Sprint(i))
		}
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		if diff := cmp.Diff([]string{"0", "1", "2", "3", "4"}, got); diff != "" {
			t.Error(diff)
		}
		stop()
		if diff := cmp.Diff(map[result]int{resultPosted: 5}, counts(t, p)); diff != "" || len(log.all()) > 0 {
			t.Errorf("%s, logged %v", diff, log.all())
		}
	})
}

func TestOldEventsAreLostAndLoggedFromTimeToTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		attempts := 0
		p, log := simulate(t, func(r *http.Request) (int, error) {
			attempts++
			return isAway(r)
		})
		stop := p.Start(t.Context())
		for range 500 {
			p.send("{}")
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if diff := cmp.Diff(map[result]int{resultFailed: 500}, counts(t, p)); diff != "" {
			t.Error(diff)
		}
		if lines := len(log.all()); lines < 1 || lines > 3 || attempts > 30 {
			t.Errorf("%d attempts, logged %v", attempts, log.all())
		}
		before := attempts
		time.Sleep(24 * time.Hour)
		synctest.Wait()
		if attempts != before {
			t.Errorf("%d attempts without Events", attempts-before)
		}
		stop()
		if lines := strings.Join(log.all(), "\n"); !strings.Contains(lines, `"lost"=`) {
			t.Errorf("logged %s", lines)
		}
	})
}

func TestTheLastEventsArePostedWhenTheProcessEnds(t *testing.T) {
	for _, c := range []struct {
		name  string
		sent  int
		takes time.Duration
		// within is the maximum time until the end.
		within time.Duration
		answer receiver
		want   map[result]int
	}{
		{"the receiver answers", 5, 0, 0, statusReceiver(http.StatusAccepted), map[result]int{resultPosted: 5}},
		{"the receiver is away: one attempt each", 5, 0, 0, isAway, map[result]int{resultDropped: 5}},
		{"the receiver hangs", 5, 0, defaults.grace, hangs, map[result]int{resultDropped: 5}},
		{
			"the receiver is slow", 5, 0, defaults.grace,
			func(r *http.Request) (int, error) {
				select {
				case <-time.After(700 * time.Millisecond):
					return http.StatusAccepted, nil
				case <-r.Context().Done():
					return 0, r.Context().Err()
				}
			},
			map[result]int{resultPosted: 2, resultDropped: 3},
		},
		{"a wait between two attempts ends", 1, 3 * time.Minute, 0, isAway, map[result]int{resultDropped: 1}},
		{"there are no Events", 0, time.Hour, 0, isAway, map[result]int{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, _ := simulate(t, c.answer)
				ctx, cancel := context.WithCancel(t.Context())
				stop := p.Start(ctx)
				for range c.sent {
					p.send("{}")
				}
				time.Sleep(c.takes)
				// The context of the process ends before the manager has ended.
				cancel()
				began := time.Now()
				stop()
				if took := time.Since(began); took > c.within {
					t.Errorf("the end took %s", took)
				}
				if diff := cmp.Diff(c.want, counts(t, p)); diff != "" {
					t.Error(diff)
				}
				p.send("{}")
				if n := counts(t, p)[resultDropped]; n != c.want[resultDropped]+1 {
					t.Errorf("%d Events were dropped, with one after the end", n)
				}
			})
		})
	}
}

// statusReceiver is a receiver that answers with a status.
func statusReceiver(status int) receiver {
	return func(*http.Request) (int, error) { return status, nil }
}

func TestAnEventThatTheReceiverCannotHandleHoldsUpOthersForMinutesOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _ := simulate(t, func(r *http.Request) (int, error) {
			body, err := io.ReadAll(r.Body)
			if string(body) == "bad" {
				return http.StatusInternalServerError, err
			}
			return http.StatusAccepted, err
		})
		defer p.Start(t.Context())()
		p.send("bad")
		p.send("good")
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if diff := cmp.Diff(map[result]int{resultFailed: 1, resultPosted: 1}, counts(t, p)); diff != "" {
			t.Error(diff)
		}
	})
}
