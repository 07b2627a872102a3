package command

import (
	"math"
	"math/rand/v2"
	"strings"
)

// The size of LOLWUT's picture in characters.
const (
	pictureColumns = 64
	pictureRows    = 16
)

// lolwut answers LOLWUT. The picture is the same for every version that is
// asked for.
func (c *call) lolwut() {
	if len(c.args) > 2 && is(c.args[1], "VERSION") {
		if _, ok := parseInt(c.args[2]); !ok {
			c.fail(errNotInteger)
			return
		}
	}
	x, y := rand.IntN(pictureColumns), rand.IntN(pictureRows)
	c.reply().Verbatim("txt", ripples(x, y)+"\nbroker ver. "+c.d.cfg.Version+", as Redis ver. "+compatVersion+"\n")
}

// ripples draws a message that reaches its subscribers: rings around a point,
// which weaken with the distance. A character is twice as high as it is wide.
func ripples(x, y int) string {
	const shades = "#*+:. "
	var b strings.Builder
	for row := range pictureRows {
		for column := range pictureColumns {
			distance := math.Hypot(float64(column-x), float64(2*(row-y)))
			fading := int(distance / 12)
			if crest := math.Mod(distance, 6) < 2; !crest || fading >= len(shades) {
				b.WriteByte(' ')
			} else {
				b.WriteByte(shades[fading])
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}
