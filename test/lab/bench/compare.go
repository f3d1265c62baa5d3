package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
)

// comparedScenarios are the scenarios whose figures are compared between operators. The other scenarios measure growth,
// or that nothing happens.
var comparedScenarios = []int{1, 2, 3, 4, 6, 8, 9}

// paths is a flag that can be repeated.
type paths []string

// String implements flag.Value.
func (p *paths) String() string { return strings.Join(*p, ", ") }

// Set implements flag.Value.
func (p *paths) Set(path string) error {
	if path == "" {
		return errors.New("the path is empty")
	}
	*p = append(*p, path)
	return nil
}

// comparedNumbers returns the scenarios to compare. By default these are all of comparedScenarios. A number that is not
// in comparedScenarios is an error.
func comparedNumbers(chosen []int) ([]int, error) {
	for _, number := range chosen {
		if !slices.Contains(comparedScenarios, number) {
			return nil, fmt.Errorf("scenario %d does not compare operators; the scenarios that do are %s",
				number, strings.Trim(strings.ReplaceAll(fmt.Sprint(comparedScenarios), " ", ", "), "[]"))
		}
	}
	if len(chosen) == 0 {
		return comparedScenarios, nil
	}
	return chosen, nil
}

// labels returns a short name for each path: the name of the file if it is unique, otherwise the path. If a path is
// given several times, a number is appended.
func labels(operators []string) []string {
	files, seen := map[string]int{}, map[string]int{}
	for _, path := range operators {
		files[filepath.Base(path)]++
	}
	names := make([]string, 0, len(operators))
	for _, path := range operators {
		name := filepath.Base(path)
		if files[name] > 1 {
			name = path
		}
		if seen[path]++; seen[path] > 1 {
			name = fmt.Sprintf("%s (%d)", name, seen[path])
		}
		names = append(names, name)
	}
	return names
}

// compare measures each operator on clusters of its own. Only one operator is measured at a time. The operators take
// turns in each round, so that other load on the machine affects all of them equally.
func (s settings) compare(ctx context.Context, r *report) (err error) {
	folder, err := os.MkdirTemp("", "bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	names := labels(s.operators)
	r.Compared = make([]compared, len(s.operators))
	benches := make([]*bench, len(s.operators))
	for i, executable := range s.operators {
		version, err := versionOf(ctx, executable)
		if err != nil {
			return err
		}
		r.Compared[i] = compared{Operator: names[i], Path: executable, Version: version}
		own := filepath.Join(folder, fmt.Sprintf("operator-%d", i+1))
		if err := copyProgram(own, executable); err != nil {
			return err
		}
		benches[i] = s.newBench(own)
		benches[i].label = names[i]
		if s.profiles != "" {
			benches[i].profiles = filepath.Join(s.profiles, fmt.Sprintf("operator-%d", i+1))
		}
	}
	failures := make([]error, len(benches))
	takeTurns(len(benches), func(i int, turn func()) {
		benches[i].turn = turn
		r.Compared[i].Results, failures[i] = benches[i].run(ctx)
	})
	for i, b := range benches {
		r.Machine.Kubernetes = b.kubernetes
		if failures[i] != nil {
			failures[i] = fmt.Errorf("%s: %w", names[i], failures[i])
		}
	}
	return errors.Join(failures...)
}

// copyProgram copies an executable. All compared programs are copied, because the memory of a process also depends on
// how its file was written: the resident set of a copied program was 10 MiB smaller than that of the file from the
// linker.
func copyProgram(to, from string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o700)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// takeTurns runs n concurrent calls of work, and returns when all calls have ended. Only one call runs at a time: the
// function turn, which each call gets, blocks until all other calls have also called turn. The order of the calls is
// reversed each time, so that a call does not always run after the same other call. Each call has its own thread until
// it ends.
func takeTurns(n int, work func(i int, turn func())) {
	begin, ended := make([]chan struct{}, n), make(chan bool)
	var order []int
	for i := range n {
		begin[i] = make(chan struct{})
		order = append(order, i)
		go func() {
			runtime.LockOSThread() // The thread ends with the goroutine.
			<-begin[i]
			work(i, func() {
				ended <- false
				<-begin[i]
			})
			ended <- true
		}()
	}
	for len(order) > 0 {
		var next []int
		for _, i := range order {
			begin[i] <- struct{}{}
			if over := <-ended; !over {
				next = append(next, i)
			}
		}
		slices.Reverse(next)
		order = next
	}
}

// anyStatus is a JSON patch of the definition of components. It changes the first version in the definition, which is
// the only version.
const anyStatus = `[{
	"op": "replace", "path": "/spec/versions/0/schema/openAPIV3Schema/properties/status",
	"value": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}
}]`

// allowAnyStatus removes the schema of the components' status. With the schema the API server would drop the status
// fields of other versions.
func allowAnyStatus(ctx context.Context, admin client.Client) error {
	definition := &unstructured.Unstructured{}
	definition.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"))
	definition.SetName("components." + v1alpha1.GroupVersion.Group)
	return admin.Patch(ctx, definition, client.RawPatch(types.JSONPatchType, []byte(anyStatus)))
}
