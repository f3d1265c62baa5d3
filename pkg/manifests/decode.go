package manifests

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-io/fairlead/internal/bounded"
	"github.com/fairlead-io/fairlead/internal/objectmeta"
)

// documentShare is the part of MaxNodes that one document may have: decoding takes about five times as much memory as
// its result.
const documentShare = 5

// maxMistakes is the number of mistakes after which the rest of a file is not decoded.
const maxMistakes = 1000

// Decode decodes a stream of manifests with the default limits; see Decoder.
func Decode(file string, data []byte) ([]*unstructured.Unstructured, error) {
	return new(Decoder).Decode(file, data)
}

// Decoder decodes the files of a rendering. Its limits apply to all files together. Zero values select the defaults.
type Decoder struct {
	// MaxObjects is the maximum number of manifests; 20,000 by default.
	MaxObjects int
	// MaxAliasBytes limits the expansion of aliases in a document, 8 MiB by default.
	MaxAliasBytes int
	// MaxNodes is the maximum number of maps, lists, values and keys; 1,000,000 by default. A document may have a fifth
	// of them. Maps and lists may nest 1000 deep.
	MaxNodes int
	// TrimDocuments removes trailing white space of each document and adds a line break, as Helm does before it parses
	// rendered templates. This changes the value of a block scalar at the end of a document.
	TrimDocuments bool
	// Warn receives a FileError for each key that occurs twice in a map, of which the last value is used. It may be nil.
	Warn func(*FileError)

	found, nodes int
}

// Decode decodes a stream of manifests, YAML or JSON, as kubectl does. Empty documents are skipped. Lists (a kind that
// ends in List, with items) are replaced by their items. Integers become int64, other numbers float64.
//
// Every manifest must have an apiVersion, a kind and a metadata.name. metadata.generateName is refused, because the
// reconciler must find the object again. Labels and annotations must be strings, because metadata accessors drop all of
// them if a value has another type. A null value becomes an empty string, as in the API server.
//
// The returned error joins a FileError for each mistake; file is used only in errors. No objects are returned with an
// error.
func (d *Decoder) Decode(file string, data []byte) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	var errs []error
	for document := range splitDocuments(data) {
		if d.TrimDocuments {
			document.text = append(bytes.TrimRight(document.text, " \t\r\n"), '\n')
		}
		found, duplicates, mistakes := d.document(document)
		for _, duplicate := range duplicates {
			if duplicate.File = file; d.Warn != nil {
				d.Warn(duplicate)
			}
		}
		for _, mistake := range mistakes {
			mistake.File = file
			errs = append(errs, mistake)
		}
		objects = append(objects, found...)
		if len(errs) >= maxMistakes {
			errs = append(errs, fmt.Errorf("%s: there may be more mistakes than these %d", file, len(errs)))
			break
		}
		if limit := cmp.Or(d.MaxObjects, bounded.DefaultRenderedObjects); d.found > limit {
			return nil, &FileError{
				File: file,
				Line: document.line,
				Err:  fmt.Errorf("the limit of %d objects is exceeded here", limit),
			}
		}
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return objects, nil
}

// document returns the manifests in a document, its duplicate keys, and its mistakes, both without the file name.
func (d *Decoder) document(
	document document,
) (objects []*unstructured.Unstructured, duplicates, mistakes []*FileError) {
	limits := d.documentLimits()
	if err := bounded.YAMLNodes(document.text, limits); err != nil {
		line, message := document.place(err.Error())
		return nil, nil, []*FileError{{Line: line, Err: errors.New(message)}}
	}
	values, duplicates, syntax := document.parse()
	if syntax != nil {
		return nil, nil, []*FileError{syntax}
	}
	for _, value := range values {
		nodes, err := bounded.Value(value.data, limits)
		if d.nodes += nodes; err == nil && d.nodes > d.maxNodes() {
			err = fmt.Errorf("the limit of %d maps, lists, values and keys of a rendering is exceeded here", d.maxNodes())
		}
		if err != nil {
			return nil, nil, []*FileError{{Line: value.line, Err: err}}
		}
	}
	for _, value := range values {
		found, wrong := manifestsOf(value.data, "")
		for _, mistake := range wrong {
			mistakes = append(mistakes, &FileError{Line: value.line, Err: mistake})
		}
		objects = append(objects, found...)
	}
	d.found += len(objects)
	return objects, duplicates, mistakes
}

func (d *Decoder) maxNodes() int { return cmp.Or(d.MaxNodes, bounded.DefaultRenderedNodes) }

// documentLimits returns the limits of the next document.
func (d *Decoder) documentLimits() bounded.Limits {
	return bounded.Limits{
		Nodes:      max(d.maxNodes()/documentShare, 1),
		AliasBytes: d.MaxAliasBytes,
	}
}

// manifestsOf returns the manifests in data, which is a manifest or a list. at is the path of data in its document,
// empty at the top.
func manifestsOf(data any, at string) ([]*unstructured.Unstructured, []error) {
	switch data := data.(type) {
	case nil:
		return nil, nil
	case map[string]any:
		if list, ok := listOf(data); ok {
			return list.manifests(at)
		}
		object := &unstructured.Unstructured{Object: data}
		mistakes := objectmeta.Check(data)
		if at != "" {
			for i, mistake := range mistakes {
				mistakes[i] = fmt.Errorf("%s: %w", at, mistake)
			}
		}
		return []*unstructured.Unstructured{object}, mistakes
	default:
		mistake := fmt.Errorf("this is %s, not a manifest: write apiVersion, kind and metadata", objectmeta.TypeName(data))
		if at != "" {
			mistake = fmt.Errorf("%s: %w", at, mistake)
		}
		return nil, []error{mistake}
	}
}

// list is a Kubernetes list of objects.
type list struct {
	apiVersion any
	// itemKind is empty for a list of any kind.
	itemKind string
	items    []any
}

// listOf returns data as a list, if its kind ends in List and it has items, which may be null.
func listOf(object map[string]any) (list, bool) {
	kind, _ := object["kind"].(string)
	itemKind, ends := strings.CutSuffix(kind, "List")
	content, found := object["items"]
	items, ok := content.([]any)
	isList := ends && found && (ok || content == nil)
	return list{apiVersion: object["apiVersion"], itemKind: itemKind, items: items}, isList
}

// manifests returns the items of a list. Items of a typed list, such as ConfigMapList, may omit apiVersion and kind.
func (l list) manifests(at string) ([]*unstructured.Unstructured, []error) {
	var objects []*unstructured.Unstructured
	var mistakes []error
	for i, item := range l.items {
		if fields, ok := item.(map[string]any); ok && l.itemKind != "" && fields["kind"] == nil &&
			fields["apiVersion"] == nil {
			fields["kind"], fields["apiVersion"] = l.itemKind, l.apiVersion
		}
		place := fmt.Sprintf("items[%d]", i)
		if at != "" {
			place = at + "." + place
		}
		found, wrong := manifestsOf(item, place)
		objects = append(objects, found...)
		mistakes = append(mistakes, wrong...)
	}
	return objects, mistakes
}

// FileError is a mistake in a source file or in the output of a template.
type FileError struct {
	// File is the path of the file in its source.
	File string
	// Line is the line in the whole file, from 1.
	Line int
	// Err describes the mistake and how to correct it.
	Err error
	// Excerpt has up to three lines around a syntax error, each with its number. It is no part of the message, because the
	// lines may contain a secret.
	Excerpt []string
}

// Error returns file:line: message.
func (e *FileError) Error() string { return fmt.Sprintf("%s:%d: %v", e.File, e.Line, e.Err) }

// Unwrap returns Err.
func (e *FileError) Unwrap() error { return e.Err }
