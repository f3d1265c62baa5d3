package cli

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/cluster"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/exit"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/publish"
	"github.com/fairlead-io/fairlead/internal/operator"
	"github.com/fairlead-io/fairlead/pkg/component"
	"github.com/fairlead-io/fairlead/pkg/generator"
)

// foreseen is a component as it would be, and what its operator would do with it.
type foreseen struct {
	target    cluster.Target
	component *unstructured.Unstructured
	forecast  component.Forecast
	// deletion says that it is the component's deletion that was foreseen.
	deletion bool
}

// foresee finds out what would be done. The arguments are a component, and a folder where it is to be applied from one.
func (a *app) foresee(ctx context.Context, args []string, o planOptions) (foreseen, error) {
	if err := o.check(args); err != nil {
		return foreseen{}, err
	}
	c, target, err := a.connect(args[0])
	if err != nil {
		return foreseen{}, err
	}
	if !target.IsReadyMade() && o.deletion {
		return foreseeDeletion(ctx, c, target)
	}
	if !target.IsReadyMade() {
		return foreseen{}, exit.BadUsage("%s: %w", target, errNoPreview)
	}
	obj, contents, err := a.wanted(ctx, c, target, args, o)
	if err != nil {
		return foreseen{}, err
	}
	preview, err := operator.Preview(c.Config(), contents)
	if err != nil {
		return foreseen{}, err
	}
	wanted := &v1alpha1.Component{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, wanted); err != nil {
		return foreseen{}, err
	}
	deletion, look := o.deletion || obj.GetDeletionTimestamp() != nil, preview.Apply
	if deletion {
		look = preview.Delete
	}
	forecast, err := look(ctx, wanted)
	return foreseen{target: target, component: obj, forecast: forecast, deletion: deletion}, explainRefusal(target, err, len(args) == 2)
}

// wanted returns a component as it is, or as it would be once it is applied from a folder, with the source that does not exist yet.
func (a *app) wanted(
	ctx context.Context, c *cluster.Cluster, target cluster.Target, args []string, o planOptions,
) (*unstructured.Unstructured, generator.References, error) {
	if len(args) == 1 {
		obj, err := c.Find(ctx, target)
		return obj, nil, err
	}
	fields, err := o.spec(o.changed)
	if err != nil {
		return nil, nil, err
	}
	archive, err := publish.Pack(args[1])
	if err != nil {
		return nil, nil, err
	}
	if err := checkApplicable(target); err != nil {
		return nil, nil, err
	}
	publisher := publish.Publisher{Client: c.Client, Warn: a.warn}
	obj, source, err := publisher.Preview(ctx, publish.Request{Target: target, Archive: archive, Fields: fields})
	if err != nil {
		return nil, nil, err
	}
	return obj, generator.References{sourceReference(source): source.BinaryData}, nil
}

func sourceReference(source *corev1.ConfigMap) generator.Reference {
	return generator.Reference{Kind: metav1alpha1.ConfigMapReference, Namespace: source.Namespace, Name: source.Name}
}

// unread says what would have to be read to know all that would be done.
func (f foreseen) unread() error {
	var hidden []string
	for _, key := range f.forecast.Unread {
		hidden = append(hidden, key.String())
	}
	for _, blocked := range f.forecast.Blocked {
		if blocked.Error != "" {
			hidden = append(hidden, "instances of "+blocked.Type)
		}
	}
	return notAllRead(f.target.String(), hidden)
}

// explainRefusal gives an exit code to the reason why an operator would do nothing.
func explainRefusal(target cluster.Target, err error, fromFolder bool) error {
	var refused *component.RefusedError
	if !errors.As(err, &refused) {
		return err
	}
	text := fmt.Sprintf("%s: nothing would be done: %s: %s", target, refused.Reason, refused.Message)
	switch {
	case !refused.Terminal, refused.Reason == metav1alpha1.ReasonForbidden, exit.IsUnasked(refused.Cause):
		return exit.Unasked("%s", text)
	case fromFolder:
		return exit.BadInput("%s", text)
	}
	return exit.Refuse("%s", text)
}
