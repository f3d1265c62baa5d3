package manifests

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"weak"

	"github.com/klauspost/compress/zstd"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	jsonutil "k8s.io/apimachinery/pkg/util/json"
)

// blockSize is how many bytes of JSON are compressed together. Manifests of a set have much in common, which a compressor only finds where it
// sees several of them; to get at one, all of its block is decompressed.
const blockSize = 32 << 10

// Packed is a manifest as compressed JSON: a fraction of what it takes as a tree. It is read-only, and safe for concurrent use. The zero value
// holds no manifest.
type Packed struct {
	block      *block
	start, end int
}

// block holds manifests that are compressed together.
type block struct {
	compressed []byte

	mu sync.Mutex
	// plain is the JSON, for as long as the garbage collector leaves it: who wants one manifest mostly wants its neighbours next.
	plain weak.Pointer[[]byte]
}

// Encoders and decoders hold tables of a MiB and more, which the garbage collector takes while nothing is packed. Only options that contradict
// themselves are errors.
var (
	encoders = sync.Pool{New: func() any {
		encoder, _ := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(blockSize))
		return encoder
	}}
	decoders = sync.Pool{New: func() any {
		decoder, _ := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true))
		return decoder
	}}
)

// compress appends a text to a buffer, compressed.
func compress(text, buffer []byte) []byte {
	encoder, _ := encoders.Get().(*zstd.Encoder)
	defer encoders.Put(encoder)
	return encoder.EncodeAll(text, buffer)
}

// decompress is the reverse of compress.
func decompress(compressed []byte) ([]byte, error) {
	decoder, _ := decoders.Get().(*zstd.Decoder)
	defer decoders.Put(decoder)
	return decoder.DecodeAll(compressed, nil)
}

// Pack compresses manifests, in the given order. An error names the one that cannot be written as JSON.
func Pack(bodies []*unstructured.Unstructured) ([]Packed, error) {
	packed := make([]Packed, 0, len(bodies))
	current, text, scratch := &block{}, bytes.Buffer{}, []byte(nil)
	end := func() {
		scratch = compress(text.Bytes(), scratch[:0])
		current.compressed = bytes.Clone(scratch)
	}
	for i, body := range bodies {
		if body == nil {
			return nil, fmt.Errorf("manifest %d is nil", i+1)
		}
		if text.Len() >= blockSize {
			end()
			current = &block{}
			text.Reset()
		}
		start := text.Len()
		if err := json.NewEncoder(&text).Encode(body.Object); err != nil {
			return nil, fmt.Errorf("%s: the manifest cannot be written as JSON: %w", describe(body, i), err)
		}
		packed = append(packed, Packed{block: current, start: start, end: text.Len()})
	}
	end()
	return packed, nil
}

// Unpack returns the manifest, which is the caller's own.
func (p Packed) Unpack() (*unstructured.Unstructured, error) {
	if p.block == nil {
		return nil, errors.New("there is no manifest to unpack")
	}
	text, err := p.block.open()
	if err != nil {
		return nil, fmt.Errorf("unpack a manifest: %w", err)
	}
	body := &unstructured.Unstructured{}
	if err := jsonutil.Unmarshal(text[p.start:p.end], &body.Object); err != nil {
		return nil, fmt.Errorf("unpack a manifest: %w", err)
	}
	return body, nil
}

// open returns the JSON of all manifests of the block.
func (b *block) open() ([]byte, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if plain := b.plain.Value(); plain != nil {
		return *plain, nil
	}
	text, err := decompress(b.compressed)
	if err != nil {
		return nil, err
	}
	plain := &text
	b.plain = weak.Make(plain)
	return text, nil
}

// UnpackAll returns all manifests, in the same order.
func UnpackAll(packed []Packed) ([]*unstructured.Unstructured, error) {
	bodies := make([]*unstructured.Unstructured, 0, len(packed))
	for _, p := range packed {
		body, err := p.Unpack()
		if err != nil {
			return nil, err
		}
		bodies = append(bodies, body)
	}
	return bodies, nil
}

// PackedSize returns the bytes that manifests, in the order in which Pack returned them, take compressed.
func PackedSize(packed []Packed) int {
	size := 0
	var last *block
	for _, p := range packed {
		if p.block != nil && p.block != last {
			size += len(p.block.compressed)
		}
		last = p.block
	}
	return size
}

// PackObjects returns the objects with their bodies packed: all but Body is as it was, and Body is nil; see Object.Whole.
func PackObjects(objects []Object) ([]Object, error) {
	bodies := make([]*unstructured.Unstructured, 0, len(objects))
	for _, o := range objects {
		bodies = append(bodies, o.Body)
	}
	contents, err := Pack(bodies)
	if err != nil {
		return nil, err
	}
	packed := make([]Object, 0, len(objects))
	for i, o := range objects {
		o.Body, o.Packed = nil, contents[i]
		packed = append(packed, o)
	}
	return packed, nil
}

// Whole returns the object with its body, which is unpacked where the object is packed.
func (o Object) Whole() (Object, error) {
	if o.Body != nil {
		return o, nil
	}
	var err error
	if o.Body, err = o.Packed.Unpack(); err != nil {
		return o, fmt.Errorf("%s: %w", o.Key, err)
	}
	return o, nil
}
