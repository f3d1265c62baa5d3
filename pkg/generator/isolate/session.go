package isolate

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"sync"
	"testing/fstest"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/internal/authorcode"
	"github.com/fairlead-io/fairlead/pkg/generator"
)

// session is one rendering in a child.
type session struct {
	child *child
	job   job
	// ended is set when the result is sent. The session asks no question afterwards.
	ended bool

	mu       sync.Mutex
	results  []generator.Result
	origins  []generator.Origin
	versions []string
	// asked are the API versions that the generator asked for; see generator.APIVersions.
	asked map[string]bool
	// askedExports are the exports that the generator asked for.
	askedExports map[string]bool
}

// sessionKey is the key of the session in a context.
type sessionKey struct{}

// run renders. A panic becomes an error.
func (s *session) run(ctx context.Context) (o *outcome) {
	p := authorcode.Run("the generator", func() { o = s.render(ctx) })
	if p != nil {
		o = &outcome{Failure: failureOf(p)}
		o.Failure.Panicked = string(p.Stack)
	}
	return o
}

// render calls the generator.
func (s *session) render(ctx context.Context) *outcome {
	ctx = context.WithValue(ctx, sessionKey{}, s)
	req, err := s.request(ctx)
	if err != nil {
		return &outcome{Failure: failureOf(err)}
	}
	notes := ""
	if s.job.Notes {
		req.Notes = func(text string) { notes = text }
	}
	objects, proven, err := generator.Prove(ctx, s.child.generator, req)
	if err != nil {
		return &outcome{Failure: failureOf(err)}
	}
	contents, err := contentsOf(objects, s.child.scheme)
	return &outcome{Objects: contents, Proven: proven, Notes: notes, Failure: failureOf(err)}
}

// request returns the request of the job.
func (s *session) request(ctx context.Context) (generator.Request, error) {
	j := s.job
	req := generator.Request{
		Namespace: j.Namespace, Name: j.Name, Parameters: j.Parameters, SourceDigest: j.SourceDigest,
		Revision: j.Revision, Digest: j.Digest, References: generator.References{},
		Inputs: j.Inputs, Trial: j.Trial,
	}
	if err := req.Now.UnmarshalBinary(j.Now); err != nil {
		return req, fmt.Errorf("time of the rendering: %w", err)
	}
	for _, r := range j.References {
		req.References[r.Reference] = r.Data
	}
	var err error
	if req.Component, err = s.component(); err != nil {
		return req, err
	}
	if req.Capabilities, err = s.capabilities(ctx); err != nil {
		return req, err
	}
	req.Capabilities.APIVersions = req.Capabilities.APIVersions.OnAsk(func(version string) {
		s.note(func() { s.asked[version] = true })
	})
	req.Exports = generator.NewExports(j.Exports).OnAsk(func(name string) {
		s.note(func() { s.askedExports[name] = true })
	})
	if req.Source, err = s.source(ctx); err != nil {
		return req, err
	}
	if j.HasTarget {
		req.Target = lookup{session: s}
	}
	if j.HasLocal {
		req.Local = lookup{session: s, local: true}
	}
	if j.HasOwns {
		req.Owns = func(o *unstructured.Unstructured) bool { return s.owns(ctx, o) }
	}
	if j.Reports {
		req.Report = func(r generator.Result) { s.note(func() { s.results = append(s.results, r) }) }
	}
	if j.Locates {
		req.Locate = func(o generator.Origin) { s.note(func() { s.origins = append(s.origins, o) }) }
	}
	req.SourceVersion = func(v string) { s.note(func() { s.versions = append(s.versions, v) }) }
	return req, nil
}

func (s *session) note(add func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	add()
}

// component returns the component with its Go type, or as unstructured data if the scheme does not have the type.
func (s *session) component() (client.Object, error) {
	if len(s.job.Component) == 0 {
		return nil, nil
	}
	var object client.Object = &unstructured.Unstructured{}
	if typed, err := s.child.scheme.New(s.job.GVK); err == nil {
		known, ok := typed.(client.Object)
		if !ok {
			return nil, fmt.Errorf("%T is no object", typed)
		}
		object = known
	}
	if err := json.Unmarshal(s.job.Component, object); err != nil {
		return nil, fmt.Errorf("component: %w", err)
	}
	return object, nil
}

func (s *session) capabilities(ctx context.Context) (generator.Capabilities, error) {
	if known, ok := s.child.capabilities.Get(s.job.Capabilities); ok {
		if capabilities, ok := known.(generator.Capabilities); ok {
			return capabilities, nil
		}
	}
	a, err := s.ask(ctx, question{Topic: topicCapabilities})
	if err != nil || a.Version == nil {
		return generator.Capabilities{}, err
	}
	capabilities := generator.Capabilities{
		Version: *a.Version, APIVersions: generator.NewAPIVersions(a.APIVersions...),
	}
	s.child.capabilities.Add(s.job.Capabilities, capabilities)
	return capabilities, nil
}

func (s *session) source(ctx context.Context) (fs.FS, error) {
	if !s.job.HasSource {
		return nil, nil
	}
	if known, ok := s.child.sources.Get(s.job.SourceDigest); ok {
		if source, ok := known.(fs.FS); ok {
			return source, nil
		}
	}
	a, err := s.ask(ctx, question{Topic: topicSource})
	if err != nil {
		return nil, err
	}
	files, size := fstest.MapFS{}, 0
	for _, name := range a.Folders {
		files[name] = &fstest.MapFile{Mode: fs.ModeDir | folderMode}
	}
	for name, content := range a.Files {
		files[path.Clean(name)] = &fstest.MapFile{Data: content, Mode: fileMode}
		size += len(content)
	}
	if s.job.SourceDigest != "" && size <= cachedSourceBytes {
		s.child.sources.Add(s.job.SourceDigest, files)
	}
	return files, nil
}

// The modes of the entries of a source.
const (
	fileMode   fs.FileMode = 0o644
	folderMode fs.FileMode = 0o755
)

// owns asks the parent what generator.Request.Owns says about an object. The parent gets the metadata only.
func (s *session) owns(ctx context.Context, o *unstructured.Unstructured) bool {
	if o == nil {
		return false
	}
	a, err := s.ask(ctx, question{Topic: topicOwns, Object: map[string]any{
		"apiVersion": o.GetAPIVersion(), "kind": o.GetKind(), "metadata": o.Object["metadata"],
	}})
	return err == nil && a.Owned
}

var errEnded = errors.New("the rendering has ended")

// ask sends a question to the parent and waits for the answer.
func (s *session) ask(ctx context.Context, q question) (*answer, error) {
	waiting := make(chan *answer, 1)
	c := s.child
	c.mu.Lock()
	c.last++
	q.ID = c.last
	c.waiting[q.ID] = waiting
	c.mu.Unlock()
	if err := s.send(q); err != nil {
		return nil, err
	}
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case a := <-waiting:
		if err := a.Failure.error(func(uint64) error { return nil }); err != nil {
			return nil, &answerError{id: a.ID, err: err}
		}
		return a, nil
	}
}

func (s *session) send(q question) error {
	s.child.writing.Lock()
	defer s.child.writing.Unlock()
	if s.ended {
		return errEnded
	}
	return s.child.codec.write(s.child.out, message{Question: &q})
}

// lookup is a generator.Lookup that asks the parent.
type lookup struct {
	session *session
	local   bool
}

// Get reads one object.
func (l lookup) Get(
	ctx context.Context, gvk schema.GroupVersionKind, namespace, name string,
) (*unstructured.Unstructured, error) {
	a, err := l.session.ask(ctx, question{
		Topic: topicGet, Local: l.local, GVK: gvk, Namespace: namespace, Name: name,
	})
	if err != nil {
		return nil, err
	}
	return &unstructured.Unstructured{Object: a.Object}, nil
}

// List reads all objects of a type.
func (l lookup) List(
	ctx context.Context, gvk schema.GroupVersionKind, namespace string,
) (*unstructured.UnstructuredList, error) {
	a, err := l.session.ask(ctx, question{Topic: topicList, Local: l.local, GVK: gvk, Namespace: namespace})
	if err != nil {
		return nil, err
	}
	list := &unstructured.UnstructuredList{Object: a.Object, Items: make([]unstructured.Unstructured, len(a.Objects))}
	for i, object := range a.Objects {
		list.Items[i].Object = object
	}
	return list, nil
}
