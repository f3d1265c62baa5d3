package dnstest

import "time"

// Operation is an operation of the API.
type Operation string

// The operations.
const (
	Create Operation = "Create"
	Get    Operation = "Get"
	List   Operation = "List"
	Update Operation = "Update"
	Delete Operation = "Delete"
)

// Call is a request that was authorized and within the limit of the rate.
type Call struct {
	Operation Operation
	// ID is the id of the record; it is empty for Create and List.
	ID string
	// Key is the idempotency key of Create.
	Key string
}

// Fault is the bad behaviour of one call. The zero value is good behaviour.
type Fault struct {
	// LoseAnswer does the work and closes the connection without an answer.
	LoseAnswer bool
	// Delay is the time before the work is done. The work is done even if the client has closed the connection by then.
	Delay time.Duration
	// Until delays the work until the channel is closed.
	Until <-chan struct{}
	// RateLimit answers with 429 and this time in the header Retry-After, in whole seconds, without doing the work.
	RateLimit time.Duration
	// Status answers with this HTTP status without doing the work.
	Status int
	// Forget behaves as if the record, or in a list all records, did not exist.
	Forget bool
	// Stale lists the records as they were before this number of writes.
	Stale int
}

// wait delays the work.
func (f Fault) wait() {
	if f.Delay > 0 {
		time.Sleep(f.Delay)
	}
	if f.Until != nil {
		<-f.Until
	}
}

// Inject sets the faults of the next calls of an operation, a fault for each call. They come before those of Decide.
func (s *Server) Inject(op Operation, faults ...Fault) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.faults[op] = append(s.faults[op], faults...)
}

// Decide sets the function that returns the fault of each call. It is called for one call at a time and must not call
// the server.
func (s *Server) Decide(decide func(Call) Fault) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.decide = decide
}

// fault records a call and returns its fault.
func (s *Server) fault(c Call) Fault {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.calls = append(s.calls, c)
	if next := s.faults[c.Operation]; len(next) > 0 {
		s.faults[c.Operation] = next[1:]
		return next[0]
	}
	if s.decide == nil {
		return Fault{}
	}
	return s.decide(c)
}

// Records returns all records in the order of their ids.
func (s *Server) Records() []Record {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.current()
}

// Count returns the number of existing records by their tags. A tag with more than one record was doubled. A tag that
// nobody knows any more was leaked.
func (s *Server) Count() map[string]int {
	counts := map[string]int{}
	for _, record := range s.Records() {
		counts[record.Tag]++
	}
	return counts
}

// Created returns the number of records with a tag that were ever created.
func (s *Server) Created(tag string) int {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.created[tag]
}

// Calls returns the number of calls of an operation. Requests that were refused before any fault do not count.
func (s *Server) Calls(op Operation) int {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	count := 0
	for _, c := range s.calls {
		if c.Operation == op {
			count++
		}
	}
	return count
}

// Put stores a record as another client of the service would do, and returns its id. A record without id is new.
func (s *Server) Put(r Record) string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if r.ID == "" {
		r.ID = s.newID()
		s.created[r.Tag]++
	}
	s.records[r.ID] = &stored{Record: r}
	s.changed()
	return r.ID
}

// Remove deletes a record as another client of the service would do.
func (s *Server) Remove(id string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	delete(s.records, id)
	s.changed()
}
