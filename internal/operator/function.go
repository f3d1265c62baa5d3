package operator

import (
	"context"
	"errors"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/generator/function"
)

// engineFunction renders with an HTTP service that the user provides. Such a component has no source.
const engineFunction generator.Engine = "Function"

// outsideFunction is the name under which a child process asks its parent to call a function. A child has no network.
const outsideFunction = "function"

// Default keys of the credentials of a function.
const (
	defaultCAKey      = "ca.crt"
	defaultTokenKey   = "token"
	certificateKey    = "tls.crt"
	certificateKeyKey = "tls.key"
)

// functions renders Components with the service in their spec.
type functions struct{ client *function.Generator }

// newFunctions returns a generator that makes at most the given number of concurrent calls.
func newFunctions(calls int) functions {
	return functions{function.NewFor(serviceOf, function.Options{MaxCalls: calls})}
}

// Generate calls the function of the component.
func (f functions) Generate(ctx context.Context, req generator.Request) ([]client.Object, error) {
	component, ok := req.Component.(*v1alpha1.Component)
	if !ok || component.Spec.Function == nil {
		return nil, fmt.Errorf("spec.function: it is required if spec.generator is %s", engineFunction)
	}
	// Objects from a cache have no apiVersion and kind. The function needs both, so they are set here.
	component = component.DeepCopy()
	component.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("Component"))
	req.Component = component
	secrets := secretTexts(component, req.References)
	if tell := req.Report; tell != nil {
		req.Report = func(result generator.Result) {
			tell(generator.Result{
				Severity: result.Severity, Message: withoutTexts(result.Message, secrets),
				Object: withoutTexts(result.Object, secrets), Field: withoutTexts(result.Field, secrets),
			})
		}
	}
	objects, err := f.client.Generate(ctx, req)
	if err != nil {
		return nil, fmt.Errorf("spec.function: %w", err)
	}
	return objects, nil
}

// serviceOf returns the service of a component, with its credentials. Errors name the field, the object and the key.
func serviceOf(req generator.Request) (function.Service, error) {
	component, ok := req.Component.(*v1alpha1.Component)
	if !ok || component.Spec.Function == nil {
		return function.Service{}, errors.New("no function")
	}
	spec := component.Spec.Function
	service := function.Service{URL: spec.URL}
	if spec.Timeout != nil {
		service.Timeout = spec.Timeout.Duration
	}
	for _, item := range spec.Items {
		service.Items = append(service.Items, generator.Reference{
			Kind: item.Kind, Namespace: component.Namespace,
			Name: item.Name,
		})
	}
	c := credentials{namespace: component.Namespace, references: req.References}
	if ref := spec.CARef; ref != nil {
		service.CA = c.read("caRef", ref.KindOrDefault(), ref.Name, ref.Key, defaultCAKey)
	}
	if ref := spec.TokenRef; ref != nil {
		service.Token = string(c.read("tokenRef", metav1alpha1.SecretReference, ref.Name, ref.Key, defaultTokenKey))
	}
	if ref := spec.ClientCertificateRef; ref != nil {
		service.Certificate = c.read("clientCertificateRef", metav1alpha1.SecretReference, ref.Name, "", certificateKey)
		service.Key = c.read("clientCertificateRef", metav1alpha1.SecretReference, ref.Name, "", certificateKeyKey)
	}
	return service, c.err
}

// credentials reads keys of referenced objects. The field err has the first error.
type credentials struct {
	namespace  string
	references generator.References
	err        error
}

func (c *credentials) read(field string, kind metav1alpha1.ReferenceKind, name, key, defaultKey string) []byte {
	reference := generator.Reference{Kind: kind, Namespace: c.namespace, Name: name}
	if key == "" {
		key = defaultKey
	}
	content := c.references[reference][key]
	if len(content) == 0 && c.err == nil {
		c.err = fmt.Errorf("%s: %s has no content under the key %q; its keys are %s",
			field, describe(reference), key, keysOf(c.references[reference]))
	}
	return content
}
