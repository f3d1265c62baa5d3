package external

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/bounded"
	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Kinds of the documents of the protocol; see the package documentation.
const (
	callKind   = "Call"
	answerKind = "Answer"
)

// method is a method of the protocol.
type method string

const (
	methodInfo    method = "info"
	methodObserve method = "observe"
	methodCreate  method = "create"
	methodUpdate  method = "update"
	methodDelete  method = "delete"
	methodFind    method = "find"
	methodList    method = "list"
)

// code is the meaning of an error.
type code string

const (
	codeNotFound code = "NotFound"
	codeExists   code = "Exists"
	codeRefused  code = "Refused"
	codeTryLater code = "TryLater"
	codeFailed   code = "Failed"
)

// typeMeta are the fields of every document.
type typeMeta struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
}

// check returns an error if a document has another type.
func (m typeMeta) check(kind string) error {
	if m.APIVersion != Group+"/"+Version || m.Kind != kind {
		return fmt.Errorf("apiVersion and kind: want %s/%s and %s, got %q and %q", Group, Version, kind,
			shortened(strings.ToValidUTF8(m.APIVersion, "?"), maxShown), shortened(strings.ToValidUTF8(m.Kind, "?"), maxShown))
	}
	return nil
}

// callDocument is the body of a request.
type callDocument struct {
	typeMeta `json:",inline"`

	Method       method `json:"method"`
	ExternalKind string `json:"externalKind"`
	// External is set for all methods but info and list, Externals for list.
	External   *externalDocument   `json:"external,omitempty"`
	Externals  []externalDocument  `json:"externals,omitempty"`
	References []referenceDocument `json:"references,omitempty"`
}

// externalDocument is a Request without references.
type externalDocument struct {
	Name      string             `json:"name"`
	Component *componentDocument `json:"component,omitempty"`
	Spec      json.RawMessage    `json:"spec,omitempty"`
	Applied   json.RawMessage    `json:"applied,omitempty"`
	ID        string             `json:"id,omitempty"`
	Token     string             `json:"token,omitempty"`
	State     []byte             `json:"state,omitempty"`
}

// componentDocument is a component without spec and status.
type componentDocument struct {
	typeMeta `json:",inline"`

	Metadata componentMetadata `json:"metadata"`
}

type componentMetadata struct {
	Namespace   string            `json:"namespace,omitempty"`
	Name        string            `json:"name"`
	UID         types.UID         `json:"uid,omitempty"`
	Generation  int64             `json:"generation,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// referenceDocument is a Secret or a ConfigMap.
type referenceDocument struct {
	Kind      metav1alpha1.ReferenceKind `json:"kind"`
	Namespace string                     `json:"namespace,omitempty"`
	Name      string                     `json:"name"`
	Data      map[string][]byte          `json:"data"`
}

// answerDocument is the body of an answer.
type answerDocument struct {
	typeMeta `json:",inline"`

	Info      *infoDocument     `json:"info,omitempty"`
	External  *stateDocument    `json:"external,omitempty"`
	Externals []stateDocument   `json:"externals,omitempty"`
	Found     *bool             `json:"found,omitempty"`
	Findings  *findingsDocument `json:"findings,omitempty"`
	Error     *errorDocument    `json:"error,omitempty"`
}

// stateDocument is an Answer.
type stateDocument struct {
	ID        string          `json:"id,omitempty"`
	State     string          `json:"state,omitempty"` // base64
	Observed  json.RawMessage `json:"observed,omitempty"`
	Token     string          `json:"token,omitempty"`
	Differs   string          `json:"differs,omitempty"`
	Ready     bool            `json:"ready"`
	Message   string          `json:"message,omitempty"`
	PollAfter string          `json:"pollAfter,omitempty"`
}

type findingsDocument struct {
	Immutable []string `json:"immutable"`
}

type errorDocument struct {
	Code       code   `json:"code"`
	Message    string `json:"message"`
	RetryAfter string `json:"retryAfter,omitempty"`
}

// durationText returns a duration in text form. Zero is an empty text.
func durationText(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return d.String()
}

// parseDuration parses the text of a field. An empty text is zero.
func parseDuration(field, text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	parsed, err := time.ParseDuration(text)
	if err != nil {
		return 0, fmt.Errorf("%s: want a duration such as 1m30s", field)
	}
	return parsed, nil
}

// jsonType returns the name of the JSON type that a Go type is decoded from.
func jsonType(t reflect.Type) string {
	names := map[reflect.Kind]string{
		reflect.Bool: "a boolean", reflect.String: "a string", reflect.Slice: "a list", reflect.Struct: "a map",
		reflect.Map: "a map", reflect.Pointer: "a map",
	}
	return cmp.Or(names[t.Kind()], "a number")
}

// decodeDocument decodes a document within bounds. Unknown fields are ignored. Errors name the field and do not quote
// values.
func decodeDocument(text []byte, document any) error {
	if _, err := bounded.JSON(text, bounded.Limits{}); err != nil {
		return err
	}
	err := json.Unmarshal(text, document)
	if mismatch, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		value, _, _ := strings.Cut(mismatch.Value, " ")
		return fmt.Errorf("%s: it is of type %s; want %s",
			cmp.Or(mismatch.Field, "the document"), value, jsonType(mismatch.Type))
	}
	if err != nil {
		return fmt.Errorf("want a JSON document: %w", err)
	}
	return nil
}

func externalDocumentOf(r Request) externalDocument {
	document := externalDocument{
		Name: r.Key.Name, Spec: r.Spec, Applied: r.Applied, ID: r.ID, Token: r.Token, State: r.State,
	}
	if c := r.Component; c != nil {
		apiVersion, kind := c.GetObjectKind().GroupVersionKind().ToAPIVersionAndKind()
		annotations := maps.Clone(c.GetAnnotations())
		delete(annotations, "kubectl.kubernetes.io/last-applied-configuration") // it contains the spec
		document.Component = &componentDocument{
			typeMeta: typeMeta{APIVersion: apiVersion, Kind: kind},
			Metadata: componentMetadata{
				Namespace: c.GetNamespace(), Name: c.GetName(), UID: c.GetUID(), Generation: c.GetGeneration(),
				Labels: c.GetLabels(), Annotations: annotations,
			},
		}
	}
	return document
}

// request returns the request that a document describes.
func (d externalDocument) request(kind string, references generator.References) Request {
	r := Request{
		Key:  manifests.Key{Group: Group, Kind: kind, Name: d.Name},
		Spec: d.Spec, Applied: d.Applied, ID: d.ID, Token: d.Token, State: d.State, References: references,
	}
	if c := d.Component; c != nil {
		r.Component = c.object()
	}
	return r
}

func (d *componentDocument) object() client.Object {
	component := &unstructured.Unstructured{Object: map[string]any{}}
	component.SetAPIVersion(d.APIVersion)
	component.SetKind(d.Kind)
	component.SetNamespace(d.Metadata.Namespace)
	component.SetName(d.Metadata.Name)
	component.SetUID(d.Metadata.UID)
	component.SetGeneration(d.Metadata.Generation)
	component.SetLabels(d.Metadata.Labels)
	component.SetAnnotations(d.Metadata.Annotations)
	return component
}

func referenceDocuments(references generator.References) []referenceDocument {
	documents := make([]referenceDocument, 0, len(references))
	for _, reference := range slices.SortedFunc(maps.Keys(references), compareReferences) {
		documents = append(documents, referenceDocument{
			Kind: reference.Kind, Namespace: reference.Namespace, Name: reference.Name, Data: references[reference],
		})
	}
	return documents
}

func compareReferences(a, b generator.Reference) int {
	return cmp.Or(
		strings.Compare(string(a.Kind), string(b.Kind)),
		strings.Compare(a.Namespace, b.Namespace),
		strings.Compare(a.Name, b.Name),
	)
}

func referencesOf(documents []referenceDocument) generator.References {
	references := make(generator.References, len(documents))
	for _, d := range documents {
		references[generator.Reference{Kind: d.Kind, Namespace: d.Namespace, Name: d.Name}] = d.Data
	}
	return references
}

func stateDocumentOf(a Answer) stateDocument {
	return stateDocument{
		ID: a.ID, State: base64.StdEncoding.EncodeToString(a.State), Observed: a.Observed, Token: a.Token,
		Differs: a.Differs, Ready: a.Ready, Message: a.Message, PollAfter: durationText(a.PollAfter),
	}
}

// answer checks the answer of a service to the given method.
func (d *stateDocument) answer(m method) (Answer, error) {
	if d == nil {
		return Answer{}, errors.New("external: the field is missing")
	}
	poll, err := parseDuration("external.pollAfter", d.PollAfter)
	if err != nil {
		return Answer{}, err
	}
	a := Answer{
		Token: d.Token, Differs: d.Differs, Ready: d.Ready, Message: d.Message, PollAfter: max(0, poll),
	}
	if m == methodCreate {
		if err := checkID(d.ID); err != nil {
			return Answer{}, fmt.Errorf("external.id: %w", err)
		}
		a.ID = d.ID
		if a.State, err = base64.StdEncoding.DecodeString(d.State); err != nil {
			return Answer{}, errors.New("external.state: want base64")
		}
		if err := checkState(a.State); err != nil {
			return Answer{}, fmt.Errorf("external.state: %w", err)
		}
	}
	if m == methodCreate && len(d.Observed) == 0 {
		return a, nil
	}
	observed := d.Observed
	if len(observed) == 0 {
		observed = json.RawMessage("null")
	}
	if a.Observed, err = observedJSON(observed); err != nil {
		return Answer{}, fmt.Errorf("external.observed: %w", err)
	}
	return a, nil
}

func errorDocumentOf(err error) *errorDocument {
	document := &errorDocument{Code: codeFailed, Message: err.Error()}
	var refused *RefusedError
	switch {
	case errors.Is(err, ErrNotFound):
		document.Code = codeNotFound
	case errors.Is(err, ErrExists):
		document.Code = codeExists
	case errors.As(err, &refused) && refused.Temporary:
		document.Code, document.RetryAfter = codeTryLater, durationText(refused.After)
	case refused != nil:
		document.Code = codeRefused
	}
	return document
}

// failure returns the error that a document describes, with the name of the service. means is the error that the method
// may have with a meaning.
func (d *errorDocument) failure(service string, what call) error {
	text := readable(strings.TrimSpace(d.Message), what.references)
	if text == "" {
		text = fmt.Sprintf("an error with the code %q and without a message",
			shortened(strings.ToValidUTF8(string(d.Code), "?"), maxShown))
	}
	said := &failure{text: service + ": " + text}
	switch {
	case d.Code == codeNotFound && errors.Is(what.means, ErrNotFound):
		said.meaning = ErrNotFound
	case d.Code == codeExists && errors.Is(what.means, ErrExists):
		said.meaning = ErrExists
	case d.Code == codeRefused:
		return &RefusedError{Cause: said}
	case d.Code == codeTryLater:
		after, _ := parseDuration("", d.RetryAfter) // Without a valid delay the back-off holds.
		return &RefusedError{Cause: said, Temporary: true, After: min(max(0, after), maxRetryAfter)}
	}
	return said
}
