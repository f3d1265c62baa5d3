package program

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
)

// FreeAddress returns a loopback address with a free port.
func FreeAddress() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), listener.Close()
}

// LiveHeap returns the number of bytes in use after a garbage collection, of a process that serves profiles at the
// address.
func LiveHeap(ctx context.Context, address string) (float64, error) {
	body, err := Get(ctx, "http://"+address+"/debug/pprof/heap?gc=1&debug=1")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(body) {
		if value, found := strings.CutPrefix(line, "# HeapAlloc = "); found {
			return strconv.ParseFloat(strings.TrimSpace(value), 64)
		}
	}
	return 0, errors.New("the heap profile has no line HeapAlloc")
}

// Get reads a page. It returns an error unless the status is 200.
func Get(ctx context.Context, url string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return "", err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	body, err := io.ReadAll(response.Body)
	if response.StatusCode != http.StatusOK {
		err = errors.Join(err, fmt.Errorf("%s: %s", url, response.Status))
	}
	return string(body), errors.Join(err, response.Body.Close())
}
