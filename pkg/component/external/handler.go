package external

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// DefaultMaxCalls is the default of HandlerOptions.MaxCalls.
const DefaultMaxCalls = 16

// HandlerOptions configures a Handler. The zero value is usable.
type HandlerOptions struct {
	// MaxCalls is the maximum number of calls at the same time; DefaultMaxCalls by default. Further calls are refused
	// with status 429 and the header Retry-After: 1.
	MaxCalls int
}

// Handler serves drivers, one for each kind, with the protocol that Service calls. It accepts POST requests on every
// path. If Validate returns an error for the drivers, each request is answered with status 500 and this error.
//
// The handler checks the spec of each create and update with Driver.Check, and refuses it if it is invalid or changes
// what cannot be changed. If the kind is an Identifier, a create is refused with ErrExists while an external with this
// identity exists, and a find looks for the identity. A call ends after nine tenths of Info.Timeout, so that its error
// reaches the client in time.
//
// The handler does not authenticate clients. Put it behind TLS, and verify a token or a client certificate before it,
// as the example does. Requests contain the credentials of externals.
func Handler(o HandlerOptions, drivers ...Driver) http.Handler {
	h := &handler{
		invalid: Validate(drivers...), drivers: map[string]Driver{},
		calls: make(chan struct{}, max(1, cmp.Or(o.MaxCalls, DefaultMaxCalls))),
	}
	if h.invalid == nil {
		for _, d := range drivers {
			h.drivers[d.Info().Kind] = d
		}
	}
	return h
}

type handler struct {
	invalid error
	drivers map[string]Driver
	calls   chan struct{}
}

// ServeHTTP answers a call.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case h.invalid != nil:
		http.Error(w, h.invalid.Error(), http.StatusInternalServerError)
		return
	case r.Method != http.MethodPost:
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "post a Call of "+Group+"/"+Version, http.StatusMethodNotAllowed)
		return
	}
	select {
	case h.calls <- struct{}{}:
		defer func() { <-h.calls }()
	default:
		w.Header().Set("Retry-After", "1")
		http.Error(w, "the maximum number of concurrent calls is reached", http.StatusTooManyRequests)
		return
	}
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxDocument))
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		http.Error(w, fmt.Sprintf("the call is larger than %d bytes", maxDocument), http.StatusRequestEntityTooLarge)
		return
	}
	if err != nil {
		http.Error(w, "the request ended early", http.StatusBadRequest)
		return
	}
	var document callDocument
	if err := errors.Join(decodeDocument(text, &document), document.check(callKind)); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	answer := h.answer(r.Context(), document)
	answer.typeMeta = typeMeta{APIVersion: Group + "/" + Version, Kind: answerKind}
	body, err := json.Marshal(answer)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(body) // the client may have closed the connection
}

// answer calls the driver.
func (h *handler) answer(ctx context.Context, document callDocument) answerDocument {
	d, found := h.drivers[document.ExternalKind]
	if !found {
		return failed(Refused(fmt.Errorf("externalKind: the service handles %s",
			strings.Join(slices.Sorted(maps.Keys(h.drivers)), ", "))))
	}
	info := d.Info()
	ctx, cancel := context.WithTimeout(ctx, info.Timeout/10*9)
	defer cancel()
	switch document.Method {
	case methodInfo:
		return answerDocument{Info: info.document()}
	case methodList:
		return list(ctx, d, document)
	case methodObserve, methodCreate, methodUpdate, methodDelete, methodFind:
	default:
		return failed(Refused(errors.New("method: want info, observe, create, update, delete, find or list")))
	}
	if document.External == nil {
		return failed(Refused(errors.New("external: the field is missing")))
	}
	r := document.External.request(info.Kind, referencesOf(document.References))
	findings := d.Check(r)
	answer := one(ctx, d, document.Method, r, findings)
	if len(r.Applied) > 0 {
		answer.Findings = &findingsDocument{Immutable: append([]string{}, findings.Immutable...)}
	}
	return answer
}

// one calls a method for one external.
func one(ctx context.Context, d Driver, m method, r Request, findings Findings) answerDocument {
	switch m {
	case methodObserve:
		return about(d.Observe(ctx, r))
	case methodCreate:
		return create(ctx, d, r, findings)
	case methodUpdate:
		return update(ctx, d, r, findings)
	case methodDelete:
		if err := d.Delete(ctx, r); err != nil {
			return failed(err)
		}
		return answerDocument{}
	case methodFind:
		id, found, err := find(ctx, d, r, findings)
		if err != nil {
			return failed(err)
		}
		answer := answerDocument{Found: &found}
		if found {
			answer.External = &stateDocument{ID: id}
		}
		return answer
	case methodInfo, methodList:
	}
	return failed(Refused(fmt.Errorf("method %s is not for one external", m)))
}

// create creates an external. A client does not know the identity of an external before it exists, so an existing one
// is found here.
func create(ctx context.Context, d Driver, r Request, findings Findings) answerDocument {
	if findings.Invalid != nil {
		return failed(Refused(findings.Invalid))
	}
	if id := findings.ID; id != "" {
		identified := r
		identified.ID = id
		_, err := d.Observe(ctx, identified)
		if err == nil {
			answer := failed(ErrExists)
			answer.External = &stateDocument{ID: id}
			return answer
		}
		if !errors.Is(err, ErrNotFound) {
			// Nothing was created.
			return failed(refusedFor(fmt.Errorf("observe %s before its creation: %w", id, err)))
		}
	}
	answer, err := d.Create(ctx, r)
	if err != nil {
		said := failed(err)
		if answer.ID != "" {
			said.External = &stateDocument{ID: answer.ID}
		}
		return said
	}
	return about(answer, nil)
}

// refusedFor marks an error as one of a call without an effect, which may succeed later unless the error says
// otherwise.
func refusedFor(err error) error {
	if refused, ok := errors.AsType[*RefusedError](err); ok {
		return &RefusedError{Cause: err, Temporary: refused.Temporary, After: refused.After}
	}
	return RefusedFor(err, 0)
}

func update(ctx context.Context, d Driver, r Request, findings Findings) answerDocument {
	if findings.Invalid != nil {
		return failed(Refused(findings.Invalid))
	}
	if len(findings.Immutable) > 0 {
		return failed(Refused(fmt.Errorf("%s cannot be changed", strings.Join(findings.Immutable, ", "))))
	}
	return about(d.Update(ctx, r))
}

// find returns the id of an external: by its token, or by its identity if the kind cannot find it. An external with the
// token of another one is not found.
func find(ctx context.Context, d Driver, r Request, findings Findings) (id string, found bool, err error) {
	if d.Info().Finds || findings.ID == "" {
		return d.Find(ctx, r)
	}
	r.ID = findings.ID
	answer, err := d.Observe(ctx, r)
	switch {
	case errors.Is(err, ErrNotFound):
		return "", false, nil
	case err != nil:
		return "", false, err
	}
	return r.ID, answer.Token == "" || answer.Token == r.Token, nil
}

// list calls List for each account of the externals. An external that does not fit into the answer is left out, so the
// client observes it.
func list(ctx context.Context, d Driver, document callDocument) answerDocument {
	references := referencesOf(document.References)
	accounts := map[string][]Request{}
	for _, external := range document.Externals {
		r := external.request(d.Info().Kind, references)
		account := d.Check(r).Account
		accounts[account] = append(accounts[account], r)
	}
	answer := answerDocument{Externals: []stateDocument{}}
	size := maxDocumentHead
	for _, name := range slices.Sorted(maps.Keys(accounts)) {
		externals := accounts[name]
		listed, err := d.List(ctx, Account{Name: name, References: references}, externals)
		if err != nil {
			return failed(err)
		}
		for _, i := range slices.Sorted(maps.Keys(listed)) {
			state := stateDocumentOf(listed[i])
			state.ID = externals[i].ID
			text, err := json.Marshal(state)
			if err != nil || size+len(text)+1 > maxDocument {
				continue
			}
			size += len(text) + 1
			answer.Externals = append(answer.Externals, state)
		}
	}
	return answer
}

// about returns the answer about an external.
func about(answer Answer, err error) answerDocument {
	if err != nil {
		return failed(err)
	}
	state := stateDocumentOf(answer)
	return answerDocument{External: &state}
}

func failed(err error) answerDocument { return answerDocument{Error: errorDocumentOf(err)} }
