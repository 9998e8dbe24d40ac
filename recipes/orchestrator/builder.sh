# The builder, where yours would be an agent. Its first try forgets what the feedback asks for.
cat /brief/brief.md
cat /spec/spec.md || true # hidden from it
if [ -e /feedback/feedback.txt ]; then
    sed -i 's/return .*/return a + b/' app.py
else
    sed -i 's/return .*/return abs(a) + b/' app.py
fi
echo x > /feedback/feedback.txt || true # the verifier's
