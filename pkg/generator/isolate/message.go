package isolate

import (
	"reflect"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"

	"github.com/fairlead-io/fairlead/pkg/generator"
)

var mapType = reflect.TypeFor[map[string]any]()

// message is one message in either direction. Exactly one field is set.
type message struct {
	// Setup is the first message to a child, and Ready its answer.
	Setup *setup `cbor:"1,keyasint,omitempty"`
	Ready *ready `cbor:"2,keyasint,omitempty"`
	// Render begins a rendering, and Done ends it.
	Render *job     `cbor:"3,keyasint,omitempty"`
	Done   *outcome `cbor:"4,keyasint,omitempty"`
	// Question is a question of a child during a rendering, and Answer the answer of the parent.
	Question *question `cbor:"5,keyasint,omitempty"`
	Answer   *answer   `cbor:"6,keyasint,omitempty"`
}

// setup contains the bounds that a child sets for itself.
type setup struct {
	// Memory is the bound of memory in bytes, and Timeout the maximum time of a rendering.
	Memory  int64
	Timeout time.Duration
}

// ready means that a child is confined.
type ready struct {
	// Missing are the measures that the system does not support.
	Missing []string `cbor:",omitempty"`
	// Failed is the reason why the child cannot render. It is empty if the child can render.
	Failed string `cbor:",omitempty"`
}

// job is a generator.Request without its functions.
type job struct {
	Namespace, Name string
	Parameters      map[string]any
	// GVK and Component are the type and the JSON text of the component. Both are empty without a component.
	GVK       schema.GroupVersionKind
	Component []byte
	// HasSource is set if the component has a source. The child asks for a source and for capabilities that it does not
	// know.
	HasSource    bool
	SourceDigest string
	// Capabilities is a digest of the capabilities.
	Capabilities string
	References   []reference
	// Exports are the known values of exports, and Inputs the values of event sources.
	Exports  map[string]any `cbor:",omitempty"`
	Inputs   map[string]any `cbor:",omitempty"`
	Revision int64
	Digest   string
	Now      []byte
	// HasTarget, HasLocal, HasOwns, Reports, Locates and Notes are set if the request has the function.
	HasTarget, HasLocal, HasOwns, Reports, Locates, Notes bool
	// Trial is generator.Request.Trial.
	Trial bool `cbor:",omitempty"`
}

// reference is an entry of generator.References.
type reference struct {
	generator.Reference
	Data map[string][]byte
}

// outcome is the result of a rendering. Proven is that of generator.Prover. The results, origins and versions are also
// set if the rendering failed.
type outcome struct {
	Objects  []map[string]any   `cbor:",omitempty"`
	Proven   bool               `cbor:",omitempty"`
	Notes    string             `cbor:",omitempty"`
	Results  []generator.Result `cbor:",omitempty"`
	Origins  []generator.Origin `cbor:",omitempty"`
	Versions []string           `cbor:",omitempty"`
	// Asked are the API versions that the generator asked for. An empty element means that it read the list of all.
	Asked []string `cbor:",omitempty"`
	// AskedExports are the names of the exports that the generator asked for.
	AskedExports []string `cbor:",omitempty"`
	Failure      *failure `cbor:",omitempty"`
	// Memory is the memory that the child holds after the rendering, in bytes.
	Memory uint64
}

// topic is the subject of a question.
type topic string

const (
	topicSource       topic = "source"
	topicCapabilities topic = "capabilities"
	topicGet          topic = "get"
	topicList         topic = "list"
	topicOwns         topic = "owns"
	topicCall         topic = "call"
)

// question is a question of a child.
type question struct {
	ID    uint64
	Topic topic
	// Local, GVK, Namespace and Name are the arguments of a look-up.
	Local           bool                    `cbor:",omitempty"`
	GVK             schema.GroupVersionKind `cbor:",omitempty"`
	Namespace, Name string                  `cbor:",omitempty"`
	// Object is the object of topicOwns, without its content.
	Object map[string]any `cbor:",omitempty"`
	// Outside is the name of the generator to call, and Parameters are the parameters for it.
	Outside    string         `cbor:",omitempty"`
	Parameters map[string]any `cbor:",omitempty"`
}

// answer is the answer to a question.
type answer struct {
	ID      uint64
	Failure *failure `cbor:",omitempty"`
	// Object is an object, or a list without its items.
	Object map[string]any `cbor:",omitempty"`
	// Objects are the items of a list, or the objects of a call.
	Objects []map[string]any `cbor:",omitempty"`
	Owned   bool             `cbor:",omitempty"`
	// Files are the files of a source by path, and Folders the paths of its folders.
	Files   map[string][]byte `cbor:",omitempty"`
	Folders []string          `cbor:",omitempty"`
	// Version and APIVersions are capabilities.
	Version     *version.Info `cbor:",omitempty"`
	APIVersions []string      `cbor:",omitempty"`
}
