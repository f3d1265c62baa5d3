// Command service runs the DNS service of package dnstest, with its bad habits, until it is interrupted.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/fairlead-io/fairlead/examples/dns/dnstest"
)

func main() {
	address := flag.String("listen", "127.0.0.1:8053", "address of the service")
	token := flag.String("token", "secret", "accepted token")
	lose := flag.Int64("lose", 0, "lose the answer to each N-th create, after the record was created; 0 for none")
	rate := flag.Int("rate", 0, "maximum number of requests in a second; 0 for no limit")
	pending := flag.Duration("pending", time.Second, "time until a new record is active")
	flag.Parse()

	server := dnstest.New(dnstest.Options{Token: *token, Rate: *rate, PendingFor: *pending, PageSize: 100})
	var creates atomic.Int64
	server.Decide(func(c dnstest.Call) dnstest.Fault {
		fault := dnstest.Fault{}
		if c.Operation == dnstest.Create && *lose > 0 {
			fault.LoseAnswer = creates.Add(1)%*lose == 0
		}
		fmt.Println(c.Operation, c.ID, c.Key, map[bool]string{true: "answer lost"}[fault.LoseAnswer])
		return fault
	})
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	listening := &http.Server{Addr: *address, Handler: server, ReadHeaderTimeout: 10 * time.Second}
	go func() {
		<-ctx.Done()
		_ = listening.Close() // ListenAndServe returns.
	}()
	if err := listening.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		fmt.Fprintf(os.Stderr, "service: %v\n", err)
		os.Exit(1)
	}
}
