import json
import subprocess

from flask import Flask, jsonify

app = Flask(__name__)


@app.route("/gpu")
def gpu():
    result = subprocess.run(["nvidia-smi", "-q", "-j"], capture_output=True, text=True)
    return jsonify(json.loads(result.stdout))


if __name__ == "__main__":
    app.run(host="0.0.0.0", port=5000)
