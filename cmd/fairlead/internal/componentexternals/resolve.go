package componentexternals

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cluster"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/exit"
	"github.com/fairlead-io/fairlead/pkg/component/result"
	"github.com/fairlead-io/fairlead/pkg/component/tree"
)

// Answer is what a person found out about a create with an unknown result: the id of the external, or that the external
// does not exist.
type Answer struct {
	ID     string
	Absent bool
}

// resolution is a value in the annotation metav1alpha1.AnnotationResolveExternal.
type resolution struct {
	Token  string `json:"token"`
	ID     string `json:"id,omitempty"`
	Absent bool   `json:"absent,omitempty"`
}

// Resolver tells the operator an answer, and waits until the operator has used it.
type Resolver struct {
	component Component
	external  External
	managed   cluster.Managed
	token     string
}

// NewResolver returns a Resolver for an external of a component, given by the name Kind/name. It returns an error
// unless the operator waits for an answer about this external.
func NewResolver(c Component, name string) (*Resolver, error) {
	e, err := c.find(name)
	if err != nil {
		return nil, err
	}
	managed, err := c.Managed()
	if err != nil {
		return nil, err
	}
	if managed.IsSuspended() && c.Live.GetDeletionTimestamp() == nil {
		return nil, exit.Refuse("%s is suspended, so its operator does not read the answer; resume it first", c.Target)
	}
	if !e.IsUncertain() {
		return nil, exit.Refuse("%s of %s needs no answer: %s", e.Name(), c.Target, e.Describe())
	}
	token := e.token()
	if token == "" && !reportedNoToken.MatchString(e.Message) {
		return nil, exit.Refuse("%s of %s: the token of its creation is not known; see the message of the condition Stalled "+
			"of the component, or the Secret with the state of the external", e.Name(), c.Target)
	}
	return &Resolver{component: c, external: e, managed: managed, token: token}, nil
}

// IsUncertain reports whether only a person can say whether the external exists.
func (e External) IsUncertain() bool {
	if e.Reason == result.ReportCreateUncertain || e.Reason == result.ReportStateDamaged {
		return true
	}
	// The status names ten dependents only. Without a report, the record tells.
	return e.State == result.NodeUnknown && e.Reason == tree.ReasonNotAsked && e.Record != nil &&
		(e.Record.Damage != "" || e.Record.Creating && e.Record.ID == "")
}

// Describe returns the state of an external as a sentence.
func (e External) Describe() string {
	text := "it is " + string(e.State)
	if e.Reason != "" {
		text += ", " + e.Reason
	}
	if e.Message != "" {
		text += ": " + e.Message
	}
	return text
}

// reportedToken finds the token in the report of the operator.
var reportedToken = regexp.MustCompile(`\btoken ([0-9a-f]{40})\b`)

// reportedNoToken finds the report of the operator that no record contains a token. The answer then contains no token.
var reportedNoToken = regexp.MustCompile(`, no token\b`)

// token returns the token that an answer must have.
func (e External) token() string {
	if found := reportedToken.FindStringSubmatch(e.Message); found != nil {
		return found[1]
	}
	if e.Record != nil && e.Record.Damage == "" {
		return cmp.Or(e.Record.Token, string(e.UID))
	}
	return string(e.UID)
}

// Resolve tells the operator the answer, waits until the operator has used it, and returns a sentence that says what
// came of it. A timeout of zero is no limit.
func (r *Resolver) Resolve(ctx context.Context, answer Answer, timeout time.Duration) (string, error) {
	key := r.managed.Annotation(metav1alpha1.AnnotationResolveExternal)
	answers := answersIn(r.component.Live.GetAnnotations()[key])
	answers[r.external.Name()] = resolution{Token: r.token, ID: answer.ID, Absent: answer.Absent}
	text, err := json.Marshal(answers)
	if err != nil {
		return "", err
	}
	request := time.Now().UTC().Format(time.RFC3339Nano)
	after, err := r.component.Cluster.Annotate(ctx, r.component.Live, map[string]string{
		key: string(text),
		r.managed.Annotation(metav1alpha1.AnnotationReconcileRequested):   request,
		r.managed.Annotation(metav1alpha1.AnnotationReconcileAcknowledge): request,
	})
	if apierrors.IsForbidden(err) {
		return "", exit.Unasked("to answer, you need the right to patch %s, which you lack: %w", r.component.Target, err)
	}
	if err != nil {
		return "", err
	}
	said, last, err := r.await(ctx, after, request, timeout)
	if exit.CodeOf(err) == exit.No {
		// The operator did not use the answer. It is withdrawn, so that the same answer can be given again.
		return "", errors.Join(err, r.forget(ctx, last, key))
	}
	if err != nil {
		return "", err
	}
	return said, r.forget(ctx, last, key)
}

// answersIn returns the answers in an annotation. A text that the operator cannot read is dropped.
func answersIn(text string) map[string]resolution {
	answers := map[string]resolution{}
	if json.Unmarshal([]byte(text), &answers) != nil || answers == nil {
		return map[string]resolution{}
	}
	return answers
}

// forget removes the answer, which the operator has used. last is the component, or nil if the component no longer
// exists.
func (r *Resolver) forget(ctx context.Context, last *unstructured.Unstructured, key string) error {
	if last == nil {
		return nil
	}
	answers := answersIn(last.GetAnnotations()[key])
	if answers[r.external.Name()].Token != r.token {
		return nil
	}
	delete(answers, r.external.Name())
	text := ""
	if len(answers) > 0 {
		encoded, err := json.Marshal(answers)
		if err != nil {
			return err
		}
		text = string(encoded)
	}
	_, err := r.component.Cluster.Annotate(ctx, last, map[string]string{key: text})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}

// await waits until the operator has made a pass with the answer, and knows the state of the external. It returns a
// sentence about that state, and the component.
func (r *Resolver) await(
	ctx context.Context, from *unstructured.Unstructured, request string, timeout time.Duration,
) (said string, last *unstructured.Unstructured, err error) {
	limited := ctx
	if timeout > 0 {
		var cancel context.CancelFunc
		limited, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	err = r.component.Cluster.Follow(limited, from, func(obj *unstructured.Unstructured) (bool, error) {
		last = obj
		if obj == nil {
			said = "the component is deleted"
			return true, nil
		}
		status, err := cluster.StatusIfAny(r.component.Target, obj)
		if err != nil || status.LastHandledReconcileAt != request {
			return false, err
		}
		said, err = r.outcome(limited, status)
		return said != "", err
	})
	if ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
		return "", nil, exit.Unasked("%s: the answer is stored, but the operator has not used it within %s; "+
			"the state of %s is shown by: %s", r.component.Target, timeout, r.external.Name(),
			r.component.Target.Command("external list"))
	}
	return said, last, err
}

// settled returns a sentence about an external that the status does not name as waiting. It returns an empty text while
// it is not known whether the operator has used the answer.
func (r *Resolver) settled(ctx context.Context, status *metav1alpha1.Status) string {
	nodes := tree.AddExternals([]tree.Node{{
		Key: r.external.Key, UID: types.UID(r.token), State: result.NodeUnknown, Reason: tree.ReasonNotAsked,
	}}, status)
	isReady := nodes[0].State == result.NodeReady
	if isReady && len(status.Waiting) == 0 {
		return "it is Ready"
	}
	records, err := tree.ExternalRecords(ctx, r.component.Cluster, r.component.Live, status)
	if err != nil && isReady {
		return "it is Ready"
	}
	for _, record := range records {
		if record.Key != r.external.Key || record.Damage != "" || record.ID == "" {
			continue
		}
		if isReady {
			return "it is Ready"
		}
		if len(status.Waiting) > 0 {
			return "its recorded id is " + record.ID
		}
	}
	return ""
}

// outcome returns a sentence about the state of the external in a status, and an empty text if it is not known yet.
func (r *Resolver) outcome(ctx context.Context, status metav1alpha1.Status) (string, error) {
	for _, w := range status.Waiting {
		if w.Dependent != r.external.Key.String() {
			continue
		}
		switch found := reportedToken.FindStringSubmatch(w.Message); {
		case found != nil && found[1] == r.token:
			return "", exit.Refuse("%s of %s: the operator did not use the answer: %s", r.external.Name(),
				r.component.Target, w.Message)
		case w.Reason == result.ReportCreateUncertain:
			return "", exit.Refuse("%s of %s was created again, and the result is not known again: %s", r.external.Name(),
				r.component.Target, w.Message)
		case w.Reason == "InProgress" || w.Reason == "Observing":
			return "", nil
		}
		return w.Reason + ": " + w.Message, nil
	}
	return r.settled(ctx, &status), nil
}
