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
	// markerAgent is the user agent of this package's own requests. AuditEvents omits them.
	markerAgent = "testcluster-marker"
	// settleTime is the time in which the API server logs a request whose response was received before its handler
	// returned.
	settleTime    = 30 * time.Millisecond
	markerTimeout = 10 * time.Second
	// stageStarted is the audit stage at the start of a watch.
	stageStarted = "ResponseStarted"
)

// Event is a request that the API server has answered, or a watch that has started.
type Event struct {
	ID   string
	Time time.Time // when the request arrived
	// Answered is the time at which the response was sent, or at which a watch started.
	Answered  time.Time
	UserAgent string
	User      string
	// ImpersonatedUser is the impersonated user. It is empty if User did not impersonate another user.
	ImpersonatedUser string
	// Verb is the Kubernetes verb, such as list or deletecollection. For paths that are no resources it is the HTTP method
	// in lower case.
	Verb        string
	APIGroup    string
	Resource    string // empty for other paths than resources
	Subresource string
	Namespace   string
	Name        string
	RequestURI  string
	Code        int
}

// Events are requests in the order of their responses.
type Events []Event

// AuditEvents returns all requests since the cluster started, each once. It includes every request whose response was
// received before the call. The list only grows: events[len(before):] are the requests since an earlier call. Callers
// must not change the events of the list.
// AuditEvents returns an error without Options.Audit.
func (c *Cluster) AuditEvents(ctx context.Context) (Events, error) {
	events, _, err := c.readAudit(ctx)
	return events, err
}

// DrainAudit is like AuditEvents for long runs: it removes the returned events from memory, so that neither DrainAudit
// nor AuditEvents returns them again. It also returns the open watches.
func (c *Cluster) DrainAudit(ctx context.Context) (events, watches Events, err error) {
	events, watches, err = c.readAudit(ctx)
	c.audit.mutex.Lock()
	defer c.audit.mutex.Unlock()
	c.audit.events = slices.Clone(c.audit.events[len(events):])
	return events, watches, err
}

// readAudit returns the events in memory, and the open watches.
func (c *Cluster) readAudit(ctx context.Context) (events, watches Events, err error) {
	ctx, cancel := context.WithTimeout(ctx, markerTimeout)
	defer cancel()
	log, err := os.Open(filepath.Join(c.dir, auditLogFile))
	if err != nil {
		return nil, nil, fmt.Errorf("no audit log, start the cluster with Options.Audit: %w", err)
	}
	defer func() { _ = log.Close() }()

	// Without the lock a caller could read past the mark of another caller.
	c.audit.mutex.Lock()
	defer c.audit.mutex.Unlock()
	// Two marks are sent with a pause between them. The first mark shows that the API server writes the log. The second
	// mark shows that delayed events are also written.
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

// mark sends a request that is unique, and returns the text to search for in the log.
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

// auditReader keeps the events that it has read, because the log of a load test is long. A caller must hold the mutex.
type auditReader struct {
	mutex  sync.Mutex
	offset int64
	events Events
	// open are the watches that have not ended, by the id of their request.
	open map[string]Event
	// killed is the time at which an API server was last killed. The log then lacks the ends of its requests, and its last
	// line may be incomplete.
	killed time.Time
}

// cut notes the time at which the API server was killed.
func (r *auditReader) cut(killed time.Time) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.killed = killed
}

// readUntil reads the log up to the line with the mark, and returns all events of the log so far. It waits for the
// mark.
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
	// The line with the mark may be incomplete. It is read again at the next call, and is omitted because of its user
	// agent.
	unread = unread[:bytes.LastIndexByte(unread[:bytes.Index(unread, []byte(mark))], '\n')+1]
	if err := r.parse(unread); err != nil {
		return nil, nil, err
	}
	r.offset += int64(len(unread))
	// A copy of the events of a long run would be large. No event of the list is changed later.
	return slices.Clip(r.events), r.watches(), nil
}

// watches returns the open watches, in the order of their ids.
func (r *auditReader) watches() Events {
	var found Events
	for _, id := range slices.Sorted(maps.Keys(r.open)) {
		if r.open[id].Time.After(r.killed) {
			found = append(found, r.open[id])
		}
	}
	return found
}

// auditLine contains the fields of an audit.k8s.io/v1 Event that are used in an Event.
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

// parse stores the first line of each request. A watch writes two lines: one for its start and one for its end.
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

// User returns the requests of the user, including those in which it impersonated another user.
func (e Events) User(name string) Events {
	return e.Where(func(event Event) bool { return event.User == name })
}

// As returns the requests that were made as the user by impersonation. If name is empty, it returns the requests
// without impersonation.
func (e Events) As(name string) Events {
	return e.Where(func(event Event) bool { return event.ImpersonatedUser == name })
}

// Verb returns the requests with one of the verbs.
func (e Events) Verb(verbs ...string) Events {
	return e.Where(func(event Event) bool { return slices.Contains(verbs, event.Verb) })
}

// Writes returns the requests with verbs that change objects, including failed requests.
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
