package testcluster

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/rest"
)

const (
	auditLogFile = "audit.log"
	// markerAgent is the user agent of our own requests, which AuditEvents leaves out.
	markerAgent = "testcluster-marker"
	// settleTime lets the API server log a request whose answer was read before its handler had returned.
	settleTime    = 30 * time.Millisecond
	markerTimeout = 10 * time.Second
	// stageStarted is that of a watch whose answer began.
	stageStarted = "ResponseStarted"
)

// Event is a request that the API server answered; a watch is there from its start.
type Event struct {
	ID   string
	Time time.Time // when the request arrived
	// Answered is when its answer was sent; of a watch when it started.
	Answered  time.Time
	UserAgent string
	User      string
	// ImpersonatedUser is empty unless User acted as another.
	ImpersonatedUser string
	// Verb is the Kubernetes verb, such as list or deletecollection; for other paths than resources the HTTP method in
	// lower case.
	Verb        string
	APIGroup    string
	Resource    string // empty for other paths than resources
	Subresource string
	Namespace   string
	Name        string
	RequestURI  string
	Code        int
}

// Events are requests in the order in which they were answered.
type Events []Event

// AuditEvents returns all requests since the cluster started, each once. Every request whose answer was received before
// the call is among them. The list only grows: events[len(before):] are the requests since an earlier call. It fails
// without Options.Audit.
func (c *Cluster) AuditEvents(ctx context.Context) (Events, error) {
	events, _, err := c.readAudit(ctx)
	return events, err
}

// DrainAudit is AuditEvents for whoever watches for long: each event is returned once, by either of the two, and not
// kept. It tells the watches that are open besides.
func (c *Cluster) DrainAudit(ctx context.Context) (events, watches Events, err error) {
	events, watches, err = c.readAudit(ctx)
	c.audit.mutex.Lock()
	defer c.audit.mutex.Unlock()
	c.audit.events = slices.Delete(c.audit.events, 0, len(events))
	return events, watches, err
}

// readAudit returns the events that are kept, and the open watches among all that were read.
func (c *Cluster) readAudit(ctx context.Context) (events, watches Events, err error) {
	ctx, cancel := context.WithTimeout(ctx, markerTimeout)
	defer cancel()
	log, err := os.Open(filepath.Join(c.dir, auditLogFile))
	if err != nil {
		return nil, nil, fmt.Errorf("no audit log, start the cluster with Options.Audit: %w", err)
	}
	defer func() { _ = log.Close() }()

	// One caller at a time, or one would read past the mark of another.
	c.audit.mutex.Lock()
	defer c.audit.mutex.Unlock()
	// Two marks with a pause between them: the first shows that the log is served, the second that whatever was late
	// for it is written.
	if _, err := c.mark(ctx); err != nil {
		return nil, nil, err
	}
	select {
	case <-time.After(settleTime):
	case <-ctx.Done():
		return nil, nil, context.Cause(ctx)
	}
	mark, err := c.mark(ctx)
	if err != nil {
		return nil, nil, err
	}
	return c.audit.readUntil(ctx, log, mark)
}

// mark sends a request that can be told from all others, and returns the text to look for.
func (c *Cluster) mark(ctx context.Context) (string, error) {
	config := c.Config()
	config.UserAgent = markerAgent
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return "", fmt.Errorf("client for the audit log: %w", err)
	}
	defer client.CloseIdleConnections()
	mark := "mark=" + strconv.FormatInt(time.Now().UnixNano(), 36)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, config.Host+"/version?"+mark, http.NoBody)
	if err != nil {
		return "", fmt.Errorf("mark the audit log: %w", err)
	}
	response, err := client.Do(request)
	if err != nil {
		return "", fmt.Errorf("mark the audit log: %w", err)
	}
	return mark, response.Body.Close()
}

// auditReader remembers what was read, because the log of a load test is long. Whoever uses it holds the mutex.
type auditReader struct {
	mutex  sync.Mutex
	offset int64
	events Events
	// open are the watches without an end, by the id of their request.
	open map[string]Event
	// killed is when an API server was killed last: it told of no ends, and its last line may be half a one.
	killed time.Time
}

// cut says that the API server was killed at that time.
func (r *auditReader) cut(killed time.Time) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.killed = killed
}

// readUntil reads on to the line with the mark, which must come, and returns all events of the log so far.
func (r *auditReader) readUntil(ctx context.Context, log *os.File, mark string) (events, watches Events, err error) {
	if _, err := log.Seek(r.offset, io.SeekStart); err != nil {
		return nil, nil, fmt.Errorf("audit log: %w", err)
	}
	var unread []byte
	for !bytes.Contains(unread, []byte(mark)) {
		more, err := io.ReadAll(log)
		if err != nil {
			return nil, nil, fmt.Errorf("audit log: %w", err)
		}
		unread = append(unread, more...)
		if len(more) > 0 {
			continue
		}
		select {
		case <-ctx.Done():
			return nil, nil, fmt.Errorf("wait for a mark in the audit log: %w", context.Cause(ctx))
		case <-time.After(time.Millisecond):
		}
	}
	// The line with the mark may be incomplete yet; it is read again next time, and left out for its user agent.
	unread = unread[:bytes.LastIndexByte(unread[:bytes.Index(unread, []byte(mark))], '\n')+1]
	if err := r.parse(unread); err != nil {
		return nil, nil, err
	}
	r.offset += int64(len(unread))
	return slices.Clone(r.events), r.watches(), nil
}

// watches returns those that are open, in the order of their ids.
func (r *auditReader) watches() Events {
	var found Events
	for _, id := range slices.Sorted(maps.Keys(r.open)) {
		if r.open[id].Time.After(r.killed) {
			found = append(found, r.open[id])
		}
	}
	return found
}

// auditLine is the part of audit.k8s.io/v1 that an Event is made of.
type auditLine struct {
	AuditID, Stage           string
	RequestReceivedTimestamp time.Time
	StageTimestamp           time.Time
	UserAgent                string
	RequestURI               string
	Verb                     string
	User                     struct{ Username string }
	ImpersonatedUser         struct{ Username string }
	ObjectRef                struct{ APIGroup, Resource, Subresource, Namespace, Name string }
	ResponseStatus           struct{ Code int }
}

// parse keeps the first line of each request. A watch has two: when it starts and when it ends.
func (r *auditReader) parse(log []byte) error {
	for line := range bytes.Lines(log) {
		var parsed auditLine
		err := json.Unmarshal(line, &parsed)
		if err != nil && !r.killed.IsZero() {
			continue
		}
		if err != nil {
			return fmt.Errorf("line of the audit log: %w: %s", err, line)
		}
		if parsed.UserAgent == markerAgent {
			continue
		}
		_, known := r.open[parsed.AuditID]
		if parsed.Stage == stageStarted {
			r.open[parsed.AuditID] = parsed.event()
		} else {
			delete(r.open, parsed.AuditID)
		}
		if !known {
			r.events = append(r.events, parsed.event())
		}
	}
	return nil
}

func (l auditLine) event() Event {
	return Event{
		ID:               l.AuditID,
		Time:             l.RequestReceivedTimestamp,
		Answered:         l.StageTimestamp,
		UserAgent:        l.UserAgent,
		User:             l.User.Username,
		ImpersonatedUser: l.ImpersonatedUser.Username,
		Verb:             l.Verb,
		APIGroup:         l.ObjectRef.APIGroup,
		Resource:         l.ObjectRef.Resource,
		Subresource:      l.ObjectRef.Subresource,
		Namespace:        l.ObjectRef.Namespace,
		Name:             l.ObjectRef.Name,
		RequestURI:       l.RequestURI,
		Code:             l.ResponseStatus.Code,
	}
}

// Where returns the events for which keep returns true.
func (e Events) Where(keep func(Event) bool) Events {
	var kept Events
	for _, event := range e {
		if keep(event) {
			kept = append(kept, event)
		}
	}
	return kept
}

// UserAgent returns the requests of clients whose user agent starts with the prefix.
func (e Events) UserAgent(prefix string) Events {
	return e.Where(func(event Event) bool { return strings.HasPrefix(event.UserAgent, prefix) })
}

// User returns the requests of the user, also those in which it acted as another.
func (e Events) User(name string) Events {
	return e.Where(func(event Event) bool { return event.User == name })
}

// As returns the requests of whoever acted as the user, by impersonation; without a name, of those who acted as
// themselves.
func (e Events) As(name string) Events {
	return e.Where(func(event Event) bool { return event.ImpersonatedUser == name })
}

// Verb returns the requests with one of the verbs.
func (e Events) Verb(verbs ...string) Events {
	return e.Where(func(event Event) bool { return slices.Contains(verbs, event.Verb) })
}

// Writes returns the requests that change something or try to.
func (e Events) Writes() Events {
	return e.Verb("create", "update", "patch", "delete", "deletecollection")
}

// Resource returns the requests to one of the resources, such as "configmaps", and to their subresources. A resource
// may be given with its group, such as "deployments.apps"; without one it matches any group.
func (e Events) Resource(resources ...string) Events {
	return e.Where(func(event Event) bool {
		return slices.Contains(resources, event.Resource) || slices.Contains(resources, event.Resource+"."+event.APIGroup)
	})
}

// Code returns the requests answered with one of the HTTP status codes.
func (e Events) Code(codes ...int) Events {
	return e.Where(func(event Event) bool { return slices.Contains(codes, event.Code) })
}
