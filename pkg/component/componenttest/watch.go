package componenttest

import (
	"io"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"
)

// laggingReads bounds how late a watch may be: a busy one would fall behind more and more.
const laggingReads = 5

// watch opens a watch that ends with the process, and that may be cut, or lag behind.
func (c *connection) watch(r *http.Request, fault Fault, dice *rand.Rand) (*http.Response, error) {
	response, err := c.next.RoundTrip(r)
	if err != nil || response.StatusCode != http.StatusOK {
		return response, err
	}
	moment := 20*time.Millisecond + time.Duration(dice.Int64N(int64(longestDelay)))
	b := &watchBody{ReadCloser: response.Body, closed: make(chan struct{})}
	var cut <-chan time.Time
	if fault == Lag {
		b.lag, b.lags = moment, laggingReads
	}
	if fault == Cut {
		cut = time.After(moment)
	}
	go b.endWith(c.life.Done(), cut)
	response.Body = b
	return response, nil
}

// watchBody is the stream of events of a watch.
type watchBody struct {
	io.ReadCloser
	// lag is for how long events are held back once they are there, in so many reads: they are late, but none is lost.
	lag    time.Duration
	lags   int
	once   sync.Once
	closed chan struct{}
}

// Read implements io.Reader.
func (b *watchBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.lags > 0 && err == nil {
		b.lags--
		select {
		case <-time.After(b.lag):
		case <-b.closed:
		}
	}
	select {
	case <-b.closed:
		return 0, io.ErrUnexpectedEOF
	default:
		return n, err
	}
}

// Close implements io.Closer.
func (b *watchBody) Close() error {
	b.end()
	return nil
}

func (b *watchBody) end() {
	b.once.Do(func() {
		close(b.closed)
		_ = b.ReadCloser.Close() // Nobody reads it any more.
	})
}

// endWith ends the stream with its process, or when it is cut.
func (b *watchBody) endWith(life <-chan struct{}, cut <-chan time.Time) {
	select {
	case <-life:
	case <-cut:
	case <-b.closed:
	}
	b.end()
}
