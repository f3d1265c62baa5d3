package cli

import (
	"context"
	"errors"
	"fmt"
	"os"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kjson "sigs.k8s.io/json"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/exit"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// componentIn returns the manifest in a file if it is a Component of the ready-made operator, or nil.
func componentIn(file string) *unstructured.Unstructured {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil // Values.Load returns the error.
	}
	objects, err := manifests.Decode(file, text)
	if err != nil || len(objects) != 1 {
		return nil
	}
	gvk := objects[0].GroupVersionKind()
	if gvk.Group != v1alpha1.GroupVersion.Group || gvk.Kind != "Component" {
		return nil
	}
	return objects[0]
}

// takeManifest moves the manifest of a component, if there is one, from the files of values to the options. It returns
// the arguments with the name of the component, which the manifest has too.
func takeManifest(o *applyOptions, namespace *string, args []string) ([]string, error) {
	var files []string
	for _, file := range o.values.Files {
		found := componentIn(file)
		switch {
		case found == nil:
			files = append(files, file)
		case o.manifest != nil:
			return nil, exit.BadUsage("-f %s: this is a second manifest of a component; want one", file)
		default:
			if err := unknownFields(found); err != nil {
				return nil, exit.BadInput("-f %s: %w; kubectl explain component.spec lists the fields", file, err)
			}
			o.manifest = found
		}
	}
	if o.values.Files = files; o.manifest == nil {
		return args, nil
	}
	base, _, err := unstructured.NestedMap(o.manifest.Object, "spec", "values")
	if err != nil {
		return nil, exit.BadInput("the manifest: %w", err)
	}
	o.values.Base = base
	if given := o.manifest.GetNamespace(); given != "" {
		if *namespace != "" && *namespace != given {
			return nil, exit.BadUsage("the manifest has the namespace %q, and the flag --namespace %q", given, *namespace)
		}
		*namespace = given
	}
	name := o.manifest.GetName()
	if len(args) < 2 {
		return append([]string{name}, args...), nil
	}
	if args[0] != name {
		return nil, exit.BadUsage("the manifest has the name %q, and the argument is %q", name, args[0])
	}
	return args, nil
}

// unknownFields returns an error that names all fields of a manifest that a component does not have. The API server would
// drop them without an error, so a misspelt field would be a missing one.
func unknownFields(manifest *unstructured.Unstructured) error {
	text, err := manifest.MarshalJSON()
	if err != nil {
		return err
	}
	problems, err := kjson.UnmarshalStrict(text, &v1alpha1.Component{})
	if err != nil {
		return err
	}
	return errors.Join(problems...)
}

// createNamespace creates a namespace if it does not exist.
func createNamespace(ctx context.Context, c client.Client, name string, done func(string)) error {
	err := c.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	switch {
	case apierrors.IsAlreadyExists(err):
		return nil
	case err != nil:
		return fmt.Errorf("create the namespace %s: %w", name, err)
	}
	done("namespace/" + name + " created")
	return nil
}
