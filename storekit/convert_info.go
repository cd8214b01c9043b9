package storekit

import (
	"fmt"
	"strings"

	pb "github.com/anarchon-go/anarchon/storekit/internal/storev1"
)

var optionTypes = map[OptionType]pb.OptionType{
	TypeString:   pb.OptionType_OPTION_TYPE_STRING,
	TypeInt:      pb.OptionType_OPTION_TYPE_INT,
	TypeBool:     pb.OptionType_OPTION_TYPE_BOOL,
	TypeDuration: pb.OptionType_OPTION_TYPE_DURATION,
	TypeStrings:  pb.OptionType_OPTION_TYPE_STRINGS,
}

func infoToProto(info Info) *pb.InfoResponse {
	utf8 := func(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
	p := &pb.InfoResponse{Name: utf8(info.Name), Version: utf8(info.Version), Protocols: []int32{ProtocolVersion}}
	for _, s := range info.Strategies {
		p.Strategies = append(p.Strategies, utf8(s))
	}
	for _, o := range info.Options {
		option := &pb.Option{
			Name:     utf8(o.Name),
			Type:     optionTypes[o.Type],
			Required: o.Required,
			Default:  utf8(o.Default),
			Secret:   o.Secret,
			Min:      o.Min,
			Max:      o.Max,
			Help:     utf8(o.Help),
		}
		for _, e := range o.Enum {
			option.Enum = append(option.Enum, utf8(e))
		}
		p.Options = append(p.Options, option)
	}
	return p
}

// infoFromProto decodes a plugin's Info. An option of a type that this host does
// not know is an error: its value could not be checked, nor kept secret.
func infoFromProto(p *pb.InfoResponse) (Info, error) {
	info := Info{Name: p.GetName(), Version: p.GetVersion(), Strategies: p.GetStrategies()}
	if info.Name == "" {
		return Info{}, fmt.Errorf("its info has no name")
	}
	for _, v := range p.GetProtocols() {
		info.Protocols = append(info.Protocols, int(v))
	}
	for _, o := range p.GetOptions() {
		option := Option{
			Name:     o.GetName(),
			Required: o.GetRequired(),
			Default:  o.GetDefault(),
			Secret:   o.GetSecret(),
			Enum:     o.GetEnum(),
			Min:      o.Min,
			Max:      o.Max,
			Help:     o.GetHelp(),
		}
		for name, number := range optionTypes {
			if number == o.GetType() {
				option.Type = name
			}
		}
		if option.Type == "" {
			return Info{}, fmt.Errorf("its option %q has the type %d, which this host does not know", clip(o.GetName()), o.GetType())
		}
		info.Options = append(info.Options, option)
	}
	if err := checkSchema(info.Options); err != nil {
		return Info{}, fmt.Errorf("its option schema is broken: %w", err)
	}
	return info, nil
}
