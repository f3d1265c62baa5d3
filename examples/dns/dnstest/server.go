package dnstest

import (
	"cmp"
	"crypto/subtle"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"
)

// The status of a record. A new record is pending until the name servers know it.
const (
	Pending = "pending"
	Active  = "active"
)

// Record is a record as the API returns it.
type Record struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	Type   string `json:"type"`
	Value  string `json:"value"`
	TTL    int    `json:"ttl,omitempty"`
	Tag    string `json:"tag,omitempty"`
	Status string `json:"status"`
}

// Page is a page of a list. Next is the parameter page of the next page; it is empty in the last page.
type Page struct {
	Records []Record `json:"records"`
	Next    string   `json:"next,omitempty"`
}

// Options configures a Server. The zero value is ready to use.
type Options struct {
	// Token is the accepted bearer token; "secret" by default.
	Token string
	// PageSize is the number of records in a page of a list; 2 by default.
	PageSize int
	// KeyLifetime is the time within which a second create with the same idempotency key returns the record of the
	// first one; a minute by default. A later create makes another record. A negative value turns idempotency off.
	KeyLifetime time.Duration
	// PendingFor is the time in which a new record is pending.
	PendingFor time.Duration
	// Rate is the maximum number of requests in a second; zero means no limit. Requests above it are answered with 429.
	Rate int
	// Now returns the current time; time.Now by default.
	Now func() time.Time
}

// Server is an http.Handler that serves the API. Its methods may be called from several goroutines.
type Server struct {
	options Options
	mux     *http.ServeMux

	mutex sync.Mutex
	// created counts the records that were ever created, by tag. history contains the records after each of the last
	// writes.
	records map[string]*stored
	keys    map[string]*idempotent
	ids     int
	created map[string]int
	history [][]Record
	faults  map[Operation][]Fault
	decide  func(Call) Fault
	calls   []Call
	// window is the start of the second in which the requests inside were counted.
	window time.Time
	inside int
}

type stored struct {
	Record
	activeAt time.Time
}

// idempotent is what the server remembers of an idempotency key. The id is empty while the first request is under way.
type idempotent struct {
	id      string
	body    Record
	expires time.Time
}

// New returns a server without records.
func New(o Options) *Server {
	o.Token = cmp.Or(o.Token, "secret")
	o.PageSize = cmp.Or(o.PageSize, 2)
	o.KeyLifetime = cmp.Or(o.KeyLifetime, time.Minute)
	if o.Now == nil {
		o.Now = time.Now
	}
	s := &Server{
		options: o, mux: http.NewServeMux(), records: map[string]*stored{}, keys: map[string]*idempotent{},
		created: map[string]int{}, faults: map[Operation][]Fault{}, history: [][]Record{nil},
	}
	s.mux.HandleFunc("POST /records", s.serve(Create, s.create))
	s.mux.HandleFunc("GET /records", s.serve(List, s.list))
	s.mux.HandleFunc("GET /records/{id}", s.serve(Get, s.get))
	s.mux.HandleFunc("PUT /records/{id}", s.serve(Update, s.update))
	s.mux.HandleFunc("DELETE /records/{id}", s.serve(Delete, s.remove))
	return s
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// answer is the result of a call. Its code decides what is sent.
type answer struct {
	code int
	body any
}

func failure(code int, format string, args ...any) answer {
	return answer{code, map[string]string{"error": fmt.Sprintf(format, args...)}}
}

// serve wraps a call with the habits of the service. Faults apply after authorization and the limit of the rate.
func (s *Server) serve(op Operation, do func(*http.Request, Fault) answer) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), []byte("Bearer "+s.options.Token)) != 1 {
			send(w, failure(http.StatusUnauthorized, "the token is not valid"))
			return
		}
		if wait := s.admit(); wait > 0 {
			tooMany(w, wait)
			return
		}
		fault := s.fault(Call{Operation: op, ID: r.PathValue("id"), Key: r.Header.Get("Idempotency-Key")})
		switch {
		case fault.RateLimit > 0:
			tooMany(w, fault.RateLimit)
			return
		case fault.Status != 0:
			send(w, failure(fault.Status, "out of order"))
			return
		}
		result := do(r, fault)
		if fault.LoseAnswer {
			panic(http.ErrAbortHandler) // closes the connection without an answer
		}
		send(w, result)
	}
}

// admit counts a request. It returns the time until the next one is admitted if this request is above the limit.
func (s *Server) admit() time.Duration {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	now := s.options.Now()
	if now.Sub(s.window) >= time.Second {
		s.window, s.inside = now, 0
	}
	s.inside++
	if s.options.Rate == 0 || s.inside <= s.options.Rate {
		return 0
	}
	return time.Second
}

func tooMany(w http.ResponseWriter, wait time.Duration) {
	w.Header().Set("Retry-After", strconv.Itoa(int((wait+time.Second-1)/time.Second)))
	send(w, failure(http.StatusTooManyRequests, "too many requests"))
}

func send(w http.ResponseWriter, a answer) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(a.code)
	if a.body != nil {
		_ = json.NewEncoder(w).Encode(a.body) // A client that closed the connection needs no answer.
	}
}

func (s *Server) create(r *http.Request, fault Fault) answer {
	var body Record
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil || body.Name == "" || body.Type == "" || body.Value == "" {
		return failure(http.StatusBadRequest, "a record needs name, type and value")
	}
	body.ID, body.Status = "", ""
	key := r.Header.Get("Idempotency-Key")
	if earlier, found := s.reserve(key, body); found {
		return earlier
	}
	fault.wait()
	s.mutex.Lock()
	defer s.mutex.Unlock()
	record := &stored{Record: body, activeAt: s.options.Now().Add(s.options.PendingFor)}
	record.ID = s.newID()
	s.records[record.ID] = record
	s.created[record.Tag]++
	if reserved := s.keys[key]; reserved != nil {
		reserved.id = record.ID
	}
	s.changed()
	return answer{http.StatusCreated, s.view(record)}
}

// newID returns an id. The order of the ids is not the order of the creations.
func (s *Server) newID() string {
	s.ids++
	return fmt.Sprintf("rec-%d%d", s.ids%10, s.ids)
}

// reserve returns the answer to a create with a known idempotency key. Otherwise it remembers the key.
func (s *Server) reserve(key string, body Record) (answer, bool) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if key == "" || s.options.KeyLifetime < 0 {
		return answer{}, false
	}
	now := s.options.Now()
	known := s.keys[key]
	switch {
	case known == nil || !now.Before(known.expires):
		s.keys[key] = &idempotent{body: body, expires: now.Add(s.options.KeyLifetime)}
		return answer{}, false
	case known.body != body:
		return failure(http.StatusUnprocessableEntity, "the idempotency key was sent with another record"), true
	case known.id == "":
		return failure(http.StatusConflict, "a request with this idempotency key is under way"), true
	}
	record := s.records[known.id]
	if record == nil {
		return failure(http.StatusConflict, "the record of this idempotency key was deleted"), true
	}
	return answer{http.StatusCreated, s.view(record)}, true
}

func (s *Server) get(r *http.Request, fault Fault) answer {
	fault.wait()
	s.mutex.Lock()
	defer s.mutex.Unlock()
	record := s.records[r.PathValue("id")]
	if record == nil || fault.Forget {
		return failure(http.StatusNotFound, "record %s does not exist", r.PathValue("id"))
	}
	return answer{http.StatusOK, s.view(record)}
}

func (s *Server) list(r *http.Request, fault Fault) answer {
	fault.wait()
	s.mutex.Lock()
	defer s.mutex.Unlock()
	all := s.current()
	if fault.Stale > 0 {
		all = s.history[max(0, len(s.history)-1-fault.Stale)]
	}
	if fault.Forget {
		all = nil
	}
	start := r.URL.Query().Get("page")
	page := Page{Records: []Record{}}
	for _, record := range all {
		if tag := r.URL.Query().Get("tag"); tag != "" && tag != record.Tag || record.ID < start {
			continue
		}
		if len(page.Records) == s.options.PageSize {
			page.Next = record.ID
			break
		}
		page.Records = append(page.Records, record)
	}
	return answer{http.StatusOK, page}
}

func (s *Server) update(r *http.Request, fault Fault) answer {
	var body Record
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil || body.Value == "" {
		return failure(http.StatusBadRequest, "a record needs a value")
	}
	fault.wait()
	s.mutex.Lock()
	defer s.mutex.Unlock()
	record := s.records[r.PathValue("id")]
	if record == nil || fault.Forget {
		return failure(http.StatusNotFound, "record %s does not exist", r.PathValue("id"))
	}
	record.Value, record.TTL = body.Value, body.TTL
	s.changed()
	return answer{http.StatusOK, s.view(record)}
}

func (s *Server) remove(r *http.Request, fault Fault) answer {
	fault.wait()
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.records[r.PathValue("id")] == nil || fault.Forget {
		return failure(http.StatusNotFound, "record %s does not exist", r.PathValue("id"))
	}
	delete(s.records, r.PathValue("id"))
	s.changed()
	return answer{http.StatusNoContent, nil}
}

// view returns a record as a client sees it now.
func (s *Server) view(r *stored) Record {
	record := r.Record
	record.Status = Active
	if s.options.Now().Before(r.activeAt) {
		record.Status = Pending
	}
	return record
}

// current returns all records by id.
func (s *Server) current() []Record {
	var records []Record
	for _, id := range slices.Sorted(maps.Keys(s.records)) {
		records = append(records, s.view(s.records[id]))
	}
	return records
}

// maxHistory is the number of earlier states of the records that are kept for stale lists.
const maxHistory = 16

func (s *Server) changed() {
	s.history = append(s.history, s.current())
	if len(s.history) > maxHistory {
		s.history = slices.Delete(s.history, 0, len(s.history)-maxHistory)
	}
}
