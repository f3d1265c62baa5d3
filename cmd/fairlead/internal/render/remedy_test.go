package render_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/render"
	"github.com/fairlead-io/fairlead/internal/operator"
	"github.com/fairlead-io/fairlead/pkg/generator/helm"
)

func TestMissingSubChartsAreAddedByACommand(t *testing.T) {
	chart, several, spaced := t.TempDir(), t.TempDir(), filepath.Join(t.TempDir(), "my chart")
	for _, folder := range []string{chart, spaced, filepath.Join(several, "shop"), filepath.Join(several, "charts/deep")} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, "Chart.yaml"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	missing := &helm.MissingDependenciesError{Chart: "shop", Missing: []string{"redis 1.2.3"}}
	for _, c := range []struct {
		name, place, folder, want string
	}{
		{"of the place", chart, "", ": helm dependency build " + chart},
		{"of the root of the place", chart, ".", ": helm dependency build " + chart},
		{"of the only chart in the place", several, "", ": helm dependency build " + several + "/shop"},
		{"of a folder in the place", several + "/", "charts/deep", ": helm dependency build " + several + "/charts/deep"},
		{"of a place with a blank", spaced, "", ": helm dependency build '" + spaced + "'"},
		{
			"of an archive", filepath.Join(chart, "shop.tgz"), "",
			", in the folder of the chart that the archive was packed from",
		},
		{"of a component in a cluster", "", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := render.WithRemedy(fmt.Errorf("render: %w", missing), c.place, c.folder)
			if got, want := err.Error(), "render: "+missing.Error()+c.want; got != want {
				t.Errorf("got the error %s, want %s", got, want)
			}
			if !errors.Is(err, error(missing)) {
				t.Error("the error does not wrap its cause")
			}
		})
	}
	other := errors.New("x")
	if err := render.WithRemedy(other, chart, ""); !errors.Is(err, other) || err.Error() != "x" {
		t.Errorf("WithRemedy must return another error unchanged, got %v", err)
	}
}

func TestTheValuesOfInputsAreGivenByFlags(t *testing.T) {
	rates := &operator.InputError{Index: 1, Name: "rates", Err: operator.ErrNotPolled}
	size := &operator.InputError{Name: "size", Err: errors.New("forbidden")}
	for _, c := range []struct {
		err  error
		want string
	}{
		{fmt.Errorf("render: %w", rates), "render: " + rates.Error() + "; give it with --input rates=FILE"},
		{
			errors.Join(size, rates),
			size.Error() + "\n" + rates.Error() + "; give them with --input size=FILE --input rates=FILE",
		},
	} {
		err := render.WithRemedy(c.err, "", "")
		if err.Error() != c.want {
			t.Errorf("got the error %s, want %s", err, c.want)
		}
		if !errors.Is(err, operator.ErrNotPolled) {
			t.Error("the error does not wrap its cause")
		}
	}
}
