package settingtext

import (
	"github.com/fairlead-io/fairlead/internal/fieldpath"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

func (p *settingsParser) ignored() []manifests.Ignored {
	text, ok := p.value(manifests.AnnotationIgnore)
	if !ok {
		return nil
	}
	paths, err := fieldpath.ParseIgnored(p.prefix, text)
	if err != nil {
		p.fail(manifests.AnnotationIgnore, "%w", err)
	}
	var ignored []manifests.Ignored
	for _, path := range paths {
		ignored = append(ignored, manifests.Ignored{Path: path, Source: manifests.IgnoredByAnnotation})
	}
	return ignored
}
