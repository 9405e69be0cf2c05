"""The programs of the graphics device, in GLSL 3.30: what each kind of shape does on the way to its pixels.

Matrices have Taichi's convention: depth is 1 at the near plane and 0 at the far one. OpenGL clips from -1 to 1,
so each program ends with `reversed_depth`. Must not know where vertices come from.
"""

LIGHTS = 64  # how many point lights a scene may have: the length of two arrays of uniforms

_COMMON = """#version 330
vec4 reversed_depth(vec4 clip) { return vec4(clip.xy, 2.0 * clip.z - clip.w, clip.w); }
"""

_LIGHTING = f"""
uniform vec3 ambient_light;
uniform vec3 light_position[{LIGHTS}]; // as the camera sees them
uniform vec3 light_color[{LIGHTS}];
uniform int light_count;

// Lambert's law; position and normal as the camera sees them.
vec4 lit(vec3 position, vec3 normal, vec4 color, bool two_sided) {{
    vec3 sum = ambient_light;
    for (int i = 0; i < light_count; ++i) {{
        float cosine = dot(normalize(light_position[i] - position), normal);
        sum += light_color[i] * (two_sided ? abs(cosine) : max(cosine, 0.0));
    }}
    return vec4(sum * color.rgb, color.a);
}}
"""

# A quad for each particle, through its centre and facing the viewer; each pixel finds its place on the sphere.
_PARTICLES = (
    """
uniform mat4 view;
uniform mat4 projection;
in vec3 in_center;
in float in_radius;
in vec4 in_color;
out vec2 corner;
flat out vec3 center;
flat out float radius;
flat out vec4 color;

void main() {
    corner = vec2(gl_VertexID & 1, gl_VertexID >> 1) * 2.0 - 1.0;
    center = (view * vec4(in_center, 1.0)).xyz;
    radius = in_radius;
    color = in_color;
    gl_Position = reversed_depth(projection * vec4(center + vec3(corner * radius, 0.0), 1.0));
}
""",
    _LIGHTING
    + """
uniform mat4 projection;
in vec2 corner;
flat in vec3 center;
flat in float radius;
flat in vec4 color;
out vec4 out_color;

void main() {
    float away = dot(corner, corner);
    if (away >= 1.0)
        discard;
    vec3 normal = vec3(corner, sqrt(1.0 - away));
    vec3 position = center + normal * radius;
    vec4 clip = projection * vec4(position, 1.0);
    gl_FragDepth = clip.z / clip.w;
    out_color = lit(position, normal, color, false);
}
""",
)

_MESH = (
    """
uniform mat4 view;
uniform mat4 projection;
in vec3 in_position;
in vec3 in_normal;
in vec4 in_color;
in mat4 in_transform;
out vec3 position;
out vec3 normal;
out vec4 color;

void main() {
    mat4 model_view = view * in_transform;
    vec4 seen = model_view * vec4(in_position, 1.0);
    position = seen.xyz / seen.w;
    normal = transpose(inverse(mat3(model_view))) * in_normal;
    color = in_color;
    gl_Position = reversed_depth(projection * seen);
}
""",
    _LIGHTING
    + """
uniform bool two_sided;
in vec3 position;
in vec3 normal;
in vec4 color;
out vec4 out_color;

void main() {
    float size = length(normal);
    out_color = lit(position, size > 0.0 ? normal / size : vec3(0.0), color, two_sided);
}
""",
)

# A quad for each line; a line is cut at the near plane first, so that what is behind the viewer does not turn over.
_LINES = (
    """
uniform mat4 view;
uniform mat4 projection;
uniform vec2 size; // of the picture, in pixels
uniform float width; // in pixels
in vec3 in_begin;
in vec3 in_end;
in vec4 in_begin_color;
in vec4 in_end_color;
out vec4 color;

void main() {
    vec4 begin = projection * view * vec4(in_begin, 1.0);
    vec4 end = projection * view * vec4(in_end, 1.0);
    vec4 begin_color = in_begin_color, end_color = in_end_color;
    float before = begin.w - begin.z, behind = end.w - end.z; // distances to the near plane
    if (before < 0.0 && behind < 0.0) {
        gl_Position = vec4(2.0, 2.0, 2.0, 1.0);
        return;
    }
    if (before < 0.0) {
        float cut = before / (before - behind);
        begin = mix(begin, end, cut);
        begin_color = mix(begin_color, end_color, cut);
    } else if (behind < 0.0) {
        float cut = behind / (behind - before);
        end = mix(end, begin, cut);
        end_color = mix(end_color, begin_color, cut);
    }
    vec2 along = (end.xy / end.w - begin.xy / begin.w) * size;
    float far = length(along);
    vec2 across = far > 0.0 ? vec2(-along.y, along.x) / far : vec2(0.0);
    vec4 clip = (gl_VertexID & 1) == 0 ? begin : end;
    color = (gl_VertexID & 1) == 0 ? begin_color : end_color;
    clip.xy += across * (gl_VertexID < 2 ? width : -width) / size * clip.w;
    gl_Position = reversed_depth(clip);
}
""",
    """
in vec4 color;
out vec4 out_color;
void main() { out_color = color; }
""",
)

_CIRCLES = (
    """
uniform vec2 size;
in vec2 in_center;
in float in_radius; // in heights of the picture
in vec4 in_color;
out vec2 corner;
flat out vec4 color;

void main() {
    corner = vec2(gl_VertexID & 1, gl_VertexID >> 1) * 2.0 - 1.0;
    color = in_color;
    gl_Position = vec4((in_center + corner * in_radius * vec2(size.y / size.x, 1.0)) * 2.0 - 1.0, 0.0, 1.0);
}
""",
    """
in vec2 corner;
flat in vec4 color;
out vec4 out_color;

void main() {
    if (dot(corner, corner) >= 1.0)
        discard;
    out_color = color;
}
""",
)

_TRIANGLES = (
    """
in vec2 in_position;
in vec4 in_color;
out vec4 color;

void main() {
    color = in_color;
    gl_Position = vec4(in_position * 2.0 - 1.0, 0.0, 1.0);
}
""",
    """
in vec4 color;
out vec4 out_color;
void main() { out_color = color; }
""",
)

_IMAGE = (
    """
out vec2 place;

void main() {
    place = vec2(gl_VertexID & 1, gl_VertexID >> 1);
    gl_Position = vec4(place * 2.0 - 1.0, 0.0, 1.0);
}
""",
    """
uniform sampler2D image;
in vec2 place;
out vec4 out_color;

void main() {
    vec3 color = texture(image, place.yx).rgb; // its rows are columns of the canvas
    out_color = vec4(mix(color, vec3(0.0), isnan(color)), 1.0);
}
""",
)

_WIDGETS = (
    """
uniform vec2 size;
in vec2 in_position; // pixels from the upper left corner
in vec2 in_place;
in vec4 in_color;
out vec2 place;
out vec4 color;

void main() {
    place = in_place;
    color = in_color;
    gl_Position = vec4(in_position.x / size.x * 2.0 - 1.0, 1.0 - in_position.y / size.y * 2.0, 0.0, 1.0);
}
""",
    """
uniform sampler2D image;
in vec2 place;
in vec4 color;
out vec4 out_color;
void main() { out_color = color * texture(image, place); }
""",
)

# The vertex and the fragment shader of each program.
PROGRAMS: dict[str, tuple[str, str]] = {
    name: (_COMMON + vertex, _COMMON + fragment)
    for name, (vertex, fragment) in {
        "particles": _PARTICLES,
        "mesh": _MESH,
        "lines": _LINES,
        "circles": _CIRCLES,
        "triangles": _TRIANGLES,
        "image": _IMAGE,
        "widgets": _WIDGETS,
    }.items()
}
