package isolate

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/fairlead-io/fairlead/internal/budget"
	"github.com/fairlead-io/fairlead/pkg/generator"
)

// lookupShare is the part of a child's memory that the answers of a rendering may have: a quarter.
const lookupShare = 4

// jobOf returns a request as data.
func jobOf(req generator.Request, scheme *apiruntime.Scheme) (*job, error) {
	now, err := req.Now.MarshalBinary()
	if err != nil {
		return nil, fmt.Errorf("time of the rendering: %w", err)
	}
	j := &job{
		Namespace: req.Namespace, Name: req.Name, Parameters: req.Parameters, HasSource: req.Source != nil,
		SourceDigest: req.SourceDigest, Capabilities: digestOf(req.Capabilities), Revision: req.Revision,
		Digest: req.Digest, Now: now, HasTarget: req.Target != nil, HasLocal: req.Local != nil,
		Exports: req.Exports.Known(), Inputs: req.Inputs,
		HasOwns: req.Owns != nil, Reports: req.Report != nil, Locates: req.Locate != nil,
		Notes: req.Notes != nil, Trial: req.Trial,
	}
	for name, data := range req.References {
		j.References = append(j.References, reference{Reference: name, Data: data})
	}
	if req.Component == nil {
		return j, nil
	}
	if scheme == nil {
		scheme = clientgoscheme.Scheme
	}
	if j.GVK, err = apiutil.GVKForObject(req.Component, scheme); err != nil {
		return nil, fmt.Errorf("isolate: type of the component: %w", err)
	}
	if j.Component, err = json.Marshal(req.Component); err != nil {
		return nil, fmt.Errorf("component: %w", err)
	}
	return j, nil
}

// digestOf identifies capabilities.
func digestOf(c generator.Capabilities) string {
	sum := sha256.New()
	_, _ = fmt.Fprintf(sum, "%#v\n", c.Version)
	for _, version := range allVersions(c) {
		_, _ = sum.Write([]byte(strconv.Quote(version)))
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// allVersions returns all API versions. It notes no question, because the generator did not ask.
func allVersions(c generator.Capabilities) []string { return c.APIVersions.OnAsk(nil).All() }

// conversation is the exchange of messages with a child during one rendering.
type conversation struct {
	options Options
	codec   codec
	request generator.Request
	process *process
	// questions is the number of questions, and answered the size of the answers.
	questions int
	answered  int64
	// errors are the errors of answers, by the ID of the question. They never leave the process, so they keep their types.
	errors map[uint64]error
}

// run renders a job. An error means that the child cannot be used any more.
func (c *conversation) run(ctx context.Context, j *job) (*outcome, error) {
	defer c.process.watch(ctx)()
	inner, end := budget.Scope(ctx)
	defer end()
	if err := budget.Reserve(inner, j.memory()); err != nil {
		return nil, err
	}
	if err := c.codec.write(c.process.to, message{Render: j}); err != nil {
		return nil, err
	}
	for {
		m, err := c.codec.read(ctx, c.process.from)
		switch {
		case err != nil:
			return nil, err
		case m.Done != nil:
			return m.Done, nil
		case m.Question == nil:
			return nil, &refusedError{"its process sent an invalid message"}
		}
		if err := c.answer(ctx, m.Question); err != nil {
			return nil, err
		}
	}
}

// answer answers a question, unless the rendering has asked too much.
func (c *conversation) answer(ctx context.Context, q *question) error {
	if c.questions++; c.questions > c.options.Lookups {
		return &refusedError{fmt.Sprintf("it made more than %d look-ups", c.options.Lookups)}
	}
	inner, end := budget.Scope(ctx)
	defer end()
	a, err := c.reply(inner, q)
	if budget.Refused(err) {
		return err
	}
	if err != nil {
		c.errors[q.ID] = err
		a = &answer{Failure: failureOf(err)}
	}
	a.ID = q.ID
	var content bytes.Buffer
	if err := c.codec.write(&content, message{Answer: a}); err != nil {
		return err
	}
	if q.Topic != topicSource && q.Topic != topicCapabilities {
		c.answered += int64(content.Len())
	}
	if c.answered > c.options.Memory/lookupShare {
		return &refusedError{fmt.Sprintf("the objects that it looked up have more than %d MiB",
			c.options.Memory/lookupShare/mebibyte)}
	}
	_, err = c.process.to.Write(content.Bytes())
	return err
}

// reply returns the answer to a question.
func (c *conversation) reply(ctx context.Context, q *question) (*answer, error) {
	switch q.Topic {
	case topicSource:
		return readSource(ctx, c.request.Source)
	case topicCapabilities:
		known := c.request.Capabilities
		return &answer{Version: &known.Version, APIVersions: allVersions(known)}, nil
	case topicGet, topicList:
		return c.look(ctx, q)
	case topicOwns:
		object := &unstructured.Unstructured{Object: q.Object}
		return &answer{Owned: c.request.Owns != nil && c.request.Owns(object)}, nil
	case topicCall:
		return c.call(ctx, q)
	}
	return nil, fmt.Errorf("unknown question %q", q.Topic)
}

// look looks up an object or a list.
func (c *conversation) look(ctx context.Context, q *question) (*answer, error) {
	reader := c.request.Target
	if q.Local {
		reader = c.request.Local
	}
	if reader == nil {
		return nil, fmt.Errorf("no cluster for the look-up of %s", q.GVK.Kind)
	}
	if q.Topic == topicGet {
		object, err := reader.Get(ctx, q.GVK, q.Namespace, q.Name)
		if err != nil {
			return nil, err
		}
		return &answer{Object: object.Object}, nil
	}
	list, err := reader.List(ctx, q.GVK, q.Namespace)
	if err != nil {
		return nil, err
	}
	a := &answer{Object: list.Object, Objects: make([]map[string]any, len(list.Items))}
	for i := range list.Items {
		a.Objects[i] = list.Items[i].Object
	}
	return a, nil
}

// call calls a generator in this process, with the request of the rendering and the parameters of the child.
func (c *conversation) call(ctx context.Context, q *question) (*answer, error) {
	g, ok := c.options.Outside[q.Outside]
	if !ok {
		return nil, unknownOutside(q.Outside)
	}
	req := c.request
	req.Parameters = q.Parameters
	objects, err := g.Generate(ctx, req)
	if err != nil {
		return nil, err
	}
	contents, err := contentsOf(objects, clientgoscheme.Scheme)
	return &answer{Objects: contents}, err
}

// finish delivers the messages of a rendering, and returns its error.
func (c *conversation) finish(ctx context.Context, o *outcome) error {
	for _, r := range o.Results {
		c.request.Tell(r)
	}
	for _, origin := range o.Origins {
		if c.request.Locate != nil {
			c.request.Locate(origin)
		}
	}
	for _, asked := range o.Asked {
		if asked == "" {
			c.request.Capabilities.APIVersions.All()
		} else {
			c.request.Capabilities.APIVersions.Has(asked)
		}
	}
	for _, name := range o.AskedExports {
		c.request.Exports.Value(name)
	}
	for _, version := range o.Versions {
		c.request.Versioned(version)
	}
	if o.Failure != nil && o.Failure.Panicked != "" {
		log.FromContext(ctx).Info("recovered from a panic", "error", o.Failure.Message, "stack", o.Failure.Panicked)
	}
	return o.Failure.error(func(id uint64) error { return c.errors[id] })
}

// messageCopies is the number of copies of a text that are in memory while it is sent: the text, the encoded message,
// and the buffer of the pipe.
const messageCopies = 3

// memory returns an estimate of the memory that is needed to send the job.
func (j *job) memory() int64 {
	bytes := len(j.Component)
	for _, r := range j.References {
		for key, data := range r.Data {
			bytes += len(key) + len(data)
		}
	}
	return messageCopies * (int64(bytes) + budget.Value(j.Inputs))
}

// readSource reads all files of a source.
func readSource(ctx context.Context, source fs.FS) (*answer, error) {
	if source == nil {
		return nil, fs.ErrNotExist
	}
	a := &answer{Files: map[string][]byte{}}
	err := fs.WalkDir(source, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || name == "." {
			return err
		}
		if entry.IsDir() {
			a.Folders = append(a.Folders, name)
			return nil
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		if err := budget.Reserve(ctx, messageCopies*info.Size()); err != nil {
			return err
		}
		a.Files[name], err = fs.ReadFile(source, name)
		return err
	})
	return a, err
}
