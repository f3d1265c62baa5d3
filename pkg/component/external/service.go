package external

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/fairlead-io/fairlead/internal/httpservice"
	"github.com/fairlead-io/fairlead/pkg/generator"
)

// maxImmutable is the maximum number of paths that a service may report.
const maxImmutable = 100

// ServiceOptions are the address of a service that handles externals, and the credentials for it.
type ServiceOptions struct {
	// URL is the http or https URL of the service.
	URL string
	// CA contains the CA certificates, in PEM form, that the certificate of the service is verified with. If it is
	// empty, the CA certificates of the system are used.
	CA []byte
	// Token is a bearer token. If it is empty, no token is sent. Surrounding white space is removed.
	Token string
	// Certificate and Key are the client certificate and its key, in PEM form. If they are empty, no client certificate
	// is used.
	Certificate, Key []byte
}

func (o ServiceOptions) endpoint(timeout time.Duration) (*httpservice.Endpoint, error) {
	return httpservice.Service{
		URL: o.URL, CA: o.CA, Token: o.Token, Certificate: o.Certificate, Key: o.Key, Timeout: timeout,
		Accept: "application/json",
	}.Endpoint()
}

// Dial asks a service for the description of a kind, and returns a Driver that calls the service. It makes one call,
// which takes at most 10 seconds.
func Dial(ctx context.Context, kind string, o ServiceOptions) (Driver, error) {
	endpoint, err := o.endpoint(httpservice.DefaultTimeout)
	if err != nil {
		return nil, err
	}
	asking := &service{info: Info{Kind: kind}, endpoint: endpoint}
	document, err := asking.post(ctx, callDocument{Method: methodInfo}, call{})
	if err != nil {
		return nil, err
	}
	if document.Info == nil {
		return nil, asking.nonsense(errors.New("info: the field is missing"))
	}
	info, err := document.Info.info()
	if err == nil && info.Kind != kind {
		err = fmt.Errorf("info.kind: want %s", kind)
	}
	if err := errors.Join(append([]error{err}, info.problems()...)...); err != nil {
		return nil, asking.nonsense(err)
	}
	return newService(info, o)
}

// Service returns a Driver that calls a service. It makes no call: info describes the kind, and is what Dial read
// before, or what the author of the service says. Zero times and limits have the defaults of Options, and a negative
// Settle is zero. The package documentation describes the protocol.
//
// The Driver is cheap, so a program may make a new one when the credentials of a service change.
func Service(info Info, o ServiceOptions) (Driver, error) {
	return newService(info.withDefaults(), o)
}

// newService returns a Driver for a kind whose description has no defaults.
func newService(info Info, o ServiceOptions) (Driver, error) {
	info.Finds = info.Finds || info.Identifies // The service finds an external by its identity.
	info.Identifies = false
	endpoint, err := o.endpoint(info.Timeout)
	if err := errors.Join(append(info.problems(), err)...); err != nil {
		return nil, err
	}
	return &service{info: info, endpoint: endpoint, findings: newFindingsCache()}, nil
}

// service is a Driver that calls a service.
type service struct {
	info     Info
	endpoint *httpservice.Endpoint
	findings findingsCache
}

// Info implements Driver.
func (s *service) Info() Info { return s.info }

// Check implements Driver. The service checks the spec in each Create and Update, and refuses the call. So only the
// changes that it reported as impossible are known here.
func (s *service) Check(r Request) Findings {
	found := Findings{Account: s.endpoint.Name()}
	if len(r.Applied) == 0 {
		return found
	}
	immutable, known := s.findings.get(r, time.Now())
	if !known && !s.info.Updates {
		immutable = changedSpec(r)
	}
	found.Immutable = immutable
	return found
}

// changedSpec returns the changed paths of a spec.
func changedSpec(r Request) []string {
	before, err := decodeValue(r.Applied)
	if err != nil {
		return nil
	}
	after, err := decodeValue(r.Spec)
	if err != nil {
		return nil
	}
	return changedPaths("spec", before, after)
}

// Observe implements Driver.
func (s *service) Observe(ctx context.Context, r Request) (Answer, error) {
	return s.about(ctx, methodObserve, r, ErrNotFound)
}

// Create implements Driver.
func (s *service) Create(ctx context.Context, r Request) (Answer, error) {
	return s.about(ctx, methodCreate, r, ErrExists)
}

// Update implements Driver.
func (s *service) Update(ctx context.Context, r Request) (Answer, error) {
	return s.about(ctx, methodUpdate, r, ErrNotFound)
}

// about calls a method whose answer describes an external.
func (s *service) about(ctx context.Context, m method, r Request, means error) (Answer, error) {
	document, err := s.one(ctx, m, r, means)
	if errors.Is(err, ErrExists) && document.External != nil && checkID(document.External.ID) == nil {
		return Answer{ID: document.External.ID}, err
	}
	if err != nil {
		return Answer{}, err
	}
	return s.answerOf(document.External, m, r.References)
}

// answerOf returns the external that the answer to the given method describes.
func (s *service) answerOf(document *stateDocument, m method, references generator.References) (Answer, error) {
	answer, err := document.answer(m)
	if err != nil {
		return Answer{}, s.nonsense(err)
	}
	answer.Differs = s.endpoint.WithoutToken(answer.Differs)
	answer.Message = s.endpoint.WithoutToken(answer.Message)
	return answer.readable(references), nil
}

// Delete implements Driver.
func (s *service) Delete(ctx context.Context, r Request) error {
	_, err := s.one(ctx, methodDelete, r, ErrNotFound)
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}

// Find implements Driver.
func (s *service) Find(ctx context.Context, r Request) (id string, found bool, err error) {
	document, err := s.one(ctx, methodFind, r, ErrNotFound)
	switch {
	case errors.Is(err, ErrNotFound):
		return "", false, nil
	case err != nil:
		return "", false, err
	}
	return s.foundIn(document)
}

// foundIn returns the id in an answer to find.
func (s *service) foundIn(document answerDocument) (id string, found bool, err error) {
	switch {
	case document.Found == nil:
		return "", false, s.nonsense(errors.New("found: the field is missing"))
	case !*document.Found:
		return "", false, nil
	case document.External == nil:
		return "", false, s.nonsense(errors.New("external: the field is missing"))
	}
	if err := checkID(document.External.ID); err != nil {
		return "", false, s.nonsense(fmt.Errorf("external.id: %w", err))
	}
	return document.External.ID, true, nil
}

// List implements Driver. It makes as many calls as the specs need, because the size of a call is limited. If several
// of the externals have the same id, the answer contains the first of them.
func (s *service) List(ctx context.Context, a Account, externals []Request) (map[int]Answer, error) {
	positions := map[string]int{}
	var batches [][]externalDocument
	size := maxDocument
	references := referenceDocuments(a.References)
	overhead, err := json.Marshal(references)
	if err != nil {
		return nil, Refused(s.nonsense(err))
	}
	for i, r := range externals {
		if _, seen := positions[r.ID]; seen || r.ID == "" {
			continue
		}
		document := externalDocumentOf(r)
		document.State, document.Applied = nil, nil
		text, err := json.Marshal(document)
		if err != nil {
			continue // Its own call reports the error.
		}
		positions[r.ID] = i
		if size += len(text) + 1; size > maxDocument-maxDocumentHead {
			batches, size = append(batches, nil), len(overhead)+len(text)
		}
		batches[len(batches)-1] = append(batches[len(batches)-1], document)
	}
	answers := make(map[int]Answer, len(externals))
	for _, batch := range batches {
		document, err := s.post(ctx, callDocument{
			Method: methodList, Externals: batch, References: references,
		}, call{references: a.References})
		if err != nil {
			return nil, err
		}
		for _, state := range document.Externals {
			i, asked := positions[state.ID]
			if !asked {
				continue
			}
			if answers[i], err = s.answerOf(&state, methodList, a.References); err != nil {
				return nil, fmt.Errorf("the external %s: %w", state.ID, err)
			}
		}
	}
	return answers, nil
}

// one calls a method for one external, and remembers the findings of the answer.
func (s *service) one(ctx context.Context, m method, r Request, means error) (answerDocument, error) {
	external := externalDocumentOf(r)
	document, err := s.post(ctx, callDocument{
		Method: m, External: &external, References: referenceDocuments(r.References),
	}, call{means: means, references: r.References})
	if f := document.Findings; f != nil && len(r.Applied) > 0 {
		immutable := make([]string, 0, len(f.Immutable))
		for _, path := range f.Immutable[:min(len(f.Immutable), maxImmutable)] {
			immutable = append(immutable, readable(path, r.References))
		}
		s.findings.set(r, immutable, time.Now())
	}
	return document, err
}

// post sends a call and returns the answer. If the answer contains an error, both are returned.
func (s *service) post(ctx context.Context, document callDocument, what call) (answerDocument, error) {
	document.typeMeta = typeMeta{APIVersion: Group + "/" + Version, Kind: callKind}
	document.ExternalKind = s.info.Kind
	body, err := json.Marshal(document)
	if err != nil {
		return answerDocument{}, Refused(s.nonsense(err))
	}
	if len(body) > maxDocument {
		return answerDocument{}, Refused(fmt.Errorf("%s: the call has %d bytes; the limit is %d; use smaller references",
			s.endpoint.Name(), len(body), maxDocument))
	}
	text, err := s.endpoint.Post(ctx, body, maxDocument)
	if err != nil {
		return answerDocument{}, failedCall(err)
	}
	return s.read(text, what)
}

// read decodes an answer.
func (s *service) read(text []byte, what call) (answerDocument, error) {
	var answer answerDocument
	if err := decodeDocument(text, &answer); err != nil {
		return answerDocument{}, s.nonsense(err)
	}
	if err := answer.check(answerKind); err != nil {
		return answerDocument{}, s.nonsense(err)
	}
	if answer.Error != nil {
		answer.Error.Message = s.endpoint.WithoutToken(answer.Error.Message)
		return answer, answer.Error.failure(s.endpoint.Name(), what)
	}
	return answer, nil
}

// nonsense is the error of an answer that does not follow the protocol. The result of the call is unknown.
func (s *service) nonsense(err error) error {
	return fmt.Errorf("%s: the answer: %w", s.endpoint.Name(), err)
}

// failedCall converts the error of an HTTP call.
func failedCall(err error) error {
	failed, ok := errors.AsType[*httpservice.Error](err)
	switch {
	case ok && failed.NoEffect && failed.Temporary:
		return RefusedFor(err, failed.RetryAfter)
	case ok && failed.NoEffect:
		return Refused(err)
	}
	return err
}
