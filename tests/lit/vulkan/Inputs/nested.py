# A task of as many conditions inside of one another as its argument says.
import sys

depth = int(sys.argv[1])
print("define void @nested(ptr %slots, ptr %frame) {")
for k in range(depth):
    print(f"  %x{k} = load volatile i32, ptr %slots, align 4")
    print(f"  %c{k} = icmp eq i32 %x{k}, {k}")
    print(f"  br i1 %c{k}, label %in{k}, label %out{k}")
    print(f"in{k}:")
print("  store volatile i32 1, ptr %frame, align 4")
for k in reversed(range(depth)):
    print(f"  br label %out{k}")
    print(f"out{k}:")
    print(f"  store volatile i32 {k}, ptr %frame, align 4")
print("  ret void")
print("}")
