package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/fairlead-io/fairlead/pkg/component/external"
)

// externalKind is the kind of the externals.
const externalKind = "Berth"

// berth is the spec and the state of an external.
type berth struct {
	Text string `json:"text"`
}

// service is an HTTP service outside the cluster that keeps berths in memory. The ids are the tokens.
type service struct {
	address string
	server  *http.Server

	mutex  sync.Mutex
	berths map[string]berth
}

func startService() (*service, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &service{address: "http://" + listener.Addr().String(), berths: map[string]berth{}}
	driver := external.Of(externalKind, external.Kind[berth, berth](s), external.Options[berth]{Settle: -1})
	s.server = &http.Server{
		Handler:           external.Handler(external.HandlerOptions{}, driver),
		ReadHeaderTimeout: time.Minute,
	}
	go func() { _ = s.server.Serve(listener) }() // It ends with Close.
	return s, nil
}

func (s *service) close() error { return s.server.Close() }

// Observe implements external.Kind.
func (s *service) Observe(_ context.Context, r external.Ref[berth]) (berth, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	b, ok := s.berths[r.ID]
	if !ok {
		return berth{}, external.ErrNotFound
	}
	return b, nil
}

// Create implements external.Creator.
func (s *service) Create(_ context.Context, r external.Ref[berth]) (external.Created[berth], error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.berths[r.Token] = r.Spec
	return external.Created[berth]{ID: r.Token, Observed: r.Spec}, nil
}

// Update implements external.Updater.
func (s *service) Update(_ context.Context, r external.Ref[berth], _ berth) (berth, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if _, ok := s.berths[r.ID]; !ok {
		return berth{}, external.ErrNotFound
	}
	s.berths[r.ID] = r.Spec
	return r.Spec, nil
}

// Delete implements external.Deleter.
func (s *service) Delete(_ context.Context, r external.Ref[berth]) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	delete(s.berths, r.ID)
	return nil
}

// Find implements external.Finder.
func (s *service) Find(_ context.Context, r external.Ref[berth]) (string, bool, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	_, ok := s.berths[r.Token]
	return r.Token, ok, nil
}

// existing returns a message for each external that exists.
func (s *service) existing() []string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	var found []string
	for id, b := range s.berths {
		found = append(found, fmt.Sprintf("the external %s (%s) still exists", id, b.Text))
	}
	slices.Sort(found)
	return found
}
