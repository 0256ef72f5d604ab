// SPDX-License-Identifier: Apache-2.0
// A window of several materials; what it drew is written to a file, then it ends.
import QtQuick
import QtQuick.Window

Window {
    id: window
    property int frames: 0
    visible: true
    width: 160
    height: 120
    color: "steelblue"
    Item {
        id: scene
        anchors.fill: parent
        Rectangle {
            anchors.centerIn: parent
            width: 90
            height: 60
            radius: 8
            rotation: 20
            gradient: Gradient {
                GradientStop { position: 0; color: "orange" }
                GradientStop { position: 1; color: "darkred" }
            }
        }
        Rectangle { width: 40; height: 30; opacity: 0.5; border.width: 2 }
        Text { anchors.bottom: parent.bottom; text: "warm"; font.pixelSize: 20 }
    }
    onFrameSwapped: {
        window.frames++
        if (window.frames === 3)
            scene.grabToImage(result => {
                result.saveToFile(Qt.application.arguments.slice(-1)[0])
                Qt.quit()
            })
        else if (window.frames < 3)
            window.requestUpdate()
    }
}
